"""Sizes, dtypes and values of new arrays: what is checked and converted before they are created or filled."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes, fast_kernels
from retrograd.core.kernels import HALVES
from retrograd.ops.shared.elementwise import overflow


# ---- sizes
def check_size(size: Any) -> Any:
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")


def check_strides(size: Any, stride: Any) -> Any:
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    check_size(size)
    if stride and min(stride) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")


def plain_size(args: Any) -> Any:
    """The size in a call such as zeros(2, 3) or zeros((2, 3)); None for arguments that need full binding."""
    if len(args) == 1:
        kind = type(args[0])
        if kind is not int:
            if kind is not tuple and kind is not list:
                if not isinstance(args[0], tuple):
                    return None
            args = args[0]
    elif not args:
        return None
    for n in args:
        if type(n) is not int or n < 0:
            return None
    return args


# ---- dtypes and values
def default() -> Any:
    return dtypes.get_default_dtype().numpy


def number_dtype(value: Any) -> Any:
    return dtypes.number_dtype(value).numpy


def filled(array: Any, value: Any) -> Any:
    if fast_kernels.native is not None and fast_kernels.native.fill(array, value) is not None:
        return array
    array[...] = element_for(array, value)
    return array


def element_for(array: Any, value: Any) -> Any:
    """A Python number as what fills an array: a single element of half precision is rounded, which may give infinity."""
    if array.size != 1 or array.dtype not in HALVES:
        return as_element(value, array.dtype)
    with np.errstate(over="ignore"):
        return np.float32(as_element(value, np.dtype(np.float64))).astype(array.dtype)


def as_element(value: Any, dtype: Any) -> Any:
    """A Python number as an element of `dtype`, if the dtype can hold it."""
    kind = dtype.kind
    if kind == "f" and type(value) is float and -60000 < value < 60000 and dtype not in HALVES:
        return value
    if kind == "b":
        return bool(value)
    if kind == "W":                   # which rounds to infinity, as PyTorch's does
        return np.complex64(value).astype(dtype)
    if (type(value) is complex and kind != "c" and value.imag != 0) or not holds(value, dtype):
        raise overflow(dtype)
    if type(value) is complex and kind != "c":
        value = value.real
    if kind in "iu":
        value = int(value)
        if -128 < value < 128 and kind == "i":
            return value
        return np.asarray(value & (1 << 8 * dtype.itemsize) - 1, np.uint64).astype(dtype)
    if dtype in HALVES:
        return np.float32(value).astype(dtype)
    return value


def holds(value: Any, dtype: Any) -> bool:
    """Whether a number fits a dtype: unsigned types accept negative numbers modulo their range."""
    kind = dtype.kind
    if (type(value) is int or type(value) is float) and -127 <= value <= 127:
        return True
    if type(value) is complex:
        part = np.dtype(f"f{dtype.itemsize // 2}") if kind == "c" else dtype
        return holds(value.real, part) and holds(value.imag, part)
    if type(value) is float and (math.isinf(value) or math.isnan(value)):
        return kind not in "iu"
    if kind in "iu":
        info = np.iinfo(dtype)
        low = -int(info.max) if kind == "u" else int(info.min)
        return low <= value <= int(info.max)
    part = np.dtype(f"f{dtype.itemsize // 2}") if kind == "c" else dtype
    limit = dtypes.finfo(dtypes.BY_NUMPY[part]).max
    return -limit <= value <= limit


def is_small_number(value: Any) -> bool:
    """Whether every 64- and 32-bit dtype can hold this number, rounded or truncated as NumPy does."""
    kind = type(value)
    return (kind is float or kind is int) and -60000 < value < 60000


def simply_filled(array: Any, value: Any) -> Any:
    """The array filled with a small number; None for dtypes that need the general conversion."""
    if fast_kernels.native is not None and fast_kernels.native.fill(array, value) is not None:
        return array
    if array.dtype.char not in ("fd" if type(value) is float else "fdl"):
        return None
    array.fill(value)
    return array


def put_number(array: Any, value: int) -> None:
    if fast_kernels.native is None or fast_kernels.native.fill(array, value) is None:
        array.fill(value)
