"""Puts the compiled kernels for small arrays behind the ops, where they were built."""
from __future__ import annotations

from typing import Any

from retrograd.core.codegen import install_kernels

kernels: Any = None
try:
    from retrograd.core import _kernels
    kernels = _kernels
except ImportError:     # not built, or RETROGRAD_PLAIN hides them
    pass


def use() -> bool:
    """Install the kernels if they are there."""
    if kernels is None:
        return False
    install_kernels(kernels)
    return True
