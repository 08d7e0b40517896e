"""The compiled library of algorithms, or None where it was not built and callers compute with NumPy.

Its functions return None for arrays that they do not support.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.dtypes import HALVES

native: Any = None
try:
    from retrograd.core import _native  # type: ignore[attr-defined, unused-ignore]
    native = _native
except ImportError:     # not built, or RETROGRAD_PLAIN hides it
    pass


def matrices(a: Any, b: Any) -> Any:
    """The product of two matrices of one dtype."""
    if native is not None:
        made = native.multiply_packed(a, b, None)
        if made is not None:
            return made
    return np.dot(a, b)                   # same as matmul for two matrices, with less overhead


def native_on_copies(library: Any, name: str, *args: Any, halves: bool = False) -> Any:
    """What the function `name` of the library returns, given row-major copies of the arrays where it refuses them as they
    are; with `halves` also half precision, computed in float32. None if it supports none of that.
    """
    if library is None:
        return None
    made = getattr(library, name)(*args)
    if made is not None:
        return made
    half = next((a.dtype for a in args if isinstance(a, np.ndarray) and a.dtype in HALVES), None) if halves else None
    packed = [np.asarray(a, np.float32 if half is not None and a.dtype == half else None, order="C")
              if isinstance(a, np.ndarray) else a for a in args]
    if all([a is b for a, b in zip(packed, args, strict=True)]):
        return None
    made = getattr(library, name)(*packed)
    if half is None or made is None:
        return made
    if isinstance(made, tuple):
        return tuple([rounded(part, half) for part in made])
    return rounded(made, half)


def rounded(array: Any, half: Any) -> Any:
    return array.astype(half) if array.dtype == np.float32 else array
