"""Python numbers as arrays of a dtype, with PyTorch's error where the dtype cannot hold them."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.dtypes import BY_NUMPY
from retrograd.ops.shared.elementwise import overflow

INFINITY = float("inf")
FLOAT_LIMITS = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
                "complex64": 3.4028234663852886e38}


def number_array(value: Any, dtype: Any) -> Any:
    """A Python number as a 0-d array; raises if the dtype cannot hold it."""
    if (type(value) is int or type(value) is float and dtype.kind in "fcVW") and 0 <= value <= 127 and dtype.kind != "b":
        return np.asarray(value, dtype if dtype.kind != "V" else np.float32).astype(dtype, copy=False)
    if dtype.kind == "b":
        return np.asarray(value != 0)
    if dtype.kind == "W":
        return np.asarray(value, np.complex64).astype(dtype)
    fits = dtype.kind == "c" or not isinstance(value, complex) or value.imag == 0
    if fits and isinstance(value, complex) and dtype.kind != "c":
        value = value.real
    if fits and dtype.kind in "iu":
        value, fits = wrapped_integer(value, np.iinfo(dtype))
    elif fits:
        limit = FLOAT_LIMITS.get(BY_NUMPY[dtype].name, INFINITY)
        parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
        fits = all([not limit < abs(part) < INFINITY for part in parts])
    if not fits:
        raise overflow(dtype)
    return np.asarray(value).astype(dtype)


def wrapped_integer(value: Any, limits: Any) -> tuple[int, bool]:
    """A number as an integer within limits, and whether it fits; unsigned types take negative ints modulo their range."""
    if value != value or abs(value) == INFINITY:
        return 0, False
    exact = isinstance(value, int)
    low = -int(limits.max) if exact and limits.min == 0 else int(limits.min)
    fits = low <= value <= int(limits.max)
    value, top = int(value), int(limits.max)
    if limits.min == 0:
        return value % (top + 1), fits
    return value, fits
