"""Arrays that have a geometry but no memory: address space is reserved for them, and no page of it is ever written.

Tensors on the meta device and wrapper subclasses lie there. Nothing should read them; code that does finds zeros.
"""
from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from retrograd.core.storage import contiguous_strides

PRIVATE: int = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0x4000)


def reserved_array(shape: Any, strides: Any, dtype: Any, offset: int = 0) -> Any:
    """An array of the given geometry (strides and offset in elements) that takes no memory."""
    dtype = np.dtype(dtype)
    count = offset + 1
    for n, s in zip(shape, strides, strict=True):
        if n == 0:
            count = 0
            break
        count += (n - 1) * s
    steps = tuple([s * dtype.itemsize for s in strides])
    memory = reserve(count * dtype.itemsize)
    if memory is None:                # more than there are addresses
        return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), tuple(shape), steps)
    whole = np.ndarray((count * dtype.itemsize,), np.uint8, memory)
    return np.ndarray(tuple(shape), dtype, whole if count else memory, offset * dtype.itemsize if count else 0, steps)


def contiguous_array(shape: Any, dtype: Any) -> Any:
    """A reserved array in row-major order."""
    return reserved_array(shape, contiguous_strides(shape), dtype)


def reserve(size: int) -> Any:
    """Address space of that many bytes, or None where there is not so much."""
    try:
        return mmap.mmap(-1, max(size, 1), flags=PRIVATE) if hasattr(mmap, "MAP_PRIVATE") else mmap.mmap(-1, max(size, 1))
    except (OSError, OverflowError, ValueError):
        return None


def is_reserved(array: Any) -> bool:
    """Whether `array` lies in reserved address space."""
    while type(array) is np.ndarray:
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)
