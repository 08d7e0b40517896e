"""Copies of arrays into other memory orders and dtypes: multithreaded C where it was built, NumPy otherwise."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import fast_kernels
from retrograd.core.algorithms import native
from retrograd.core.dtypes import HALVES, is_complex_type
from retrograd.core.lean import namespace_of

SMALL = 4096                  # elements; below this NumPy is faster than calling the C function
FEW = 256                     # the same for conversions


def copy_into(target: np.ndarray, source: np.ndarray) -> None:
    """target[...] = source, where `source` can be broadcast.

    >>> target = np.zeros((2, 3), np.float32)
    >>> copy_into(target, np.arange(6).reshape(3, 2).T)
    >>> target.tolist()
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    """
    if target.size > SMALL:
        if source.dtype == target.dtype:
            if native is not None and native.copy(target, source):
                return
        elif target.dtype.kind == "c" and native is not None and native.complex_from(target, source):
            return
        elif fast_kernels.native is not None and fast_kernels.native.cast(target, source):
            return
    target[...] = source if source.dtype == target.dtype else cast_array(source, target.dtype)


def cast_array(array: Any, dtype: Any) -> np.ndarray:
    """Values converted as in PyTorch: complex to real silently drops the imaginary part."""
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "W":
        array = array.astype(np.complex64)
    elif dtype.kind == "W":                    # by way of the numbers that its library converts
        array = array.astype(np.complex64)
    if array.dtype.kind == "c" and not is_complex_type(dtype):
        array = array != 0 if dtype.kind == "b" else array.real
    if dtype.kind == "b" and array.dtype.kind == "V":
        return array.astype(np.float32) != 0
    if array.dtype == np.float64 and dtype in HALVES:             # PyTorch rounds twice
        array = array.astype(np.float32)
    return array.astype(dtype)


def converted(array: np.ndarray, dtype: Any, order: Any = "K") -> np.ndarray:
    """`array.astype(dtype, order)` for floating-point dtypes."""
    if array.size > FEW and fast_kernels.native is not None:
        made = np.empty_like(array, dtype, order)
        if fast_kernels.native.cast(made, array):
            return made
    return array.astype(dtype, order)


def contiguous(array: np.ndarray) -> np.ndarray:
    """The array itself if it is row-major, else a copy that is."""
    if array.size <= SMALL or array.flags.c_contiguous or not array.ndim:
        return namespace_of(array).ascontiguousarray(array)
    made = np.empty(array.shape, array.dtype)
    copy_into(made, array)
    return made


def copy_of(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """A new row-major array with the same values."""
    if dtype is None and array.size <= SMALL:
        return array.copy()
    made = np.empty(array.shape, dtype or array.dtype)
    copy_into(made, array)
    return made
