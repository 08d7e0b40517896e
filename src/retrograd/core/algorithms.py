"""The compiled library of algorithms, where it was built: None without it, and callers compute with NumPy.

A function of it answers None for arrays that it does not take.
"""
from __future__ import annotations

from typing import Any

native: Any = None
try:
    from retrograd.core import _native
    native = _native
except ImportError:     # not built, or RETROGRAD_PLAIN hides it
    pass
