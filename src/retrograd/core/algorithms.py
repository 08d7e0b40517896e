"""The compiled library of algorithms, or None where it was not built and callers compute with NumPy.

Its functions return None for arrays that they do not support.
"""
from __future__ import annotations

from typing import Any

native: Any = None
try:
    from retrograd.core import _native  # type: ignore[attr-defined, unused-ignore]
    native = _native
except ImportError:     # not built, or RETROGRAD_PLAIN hides it
    pass
