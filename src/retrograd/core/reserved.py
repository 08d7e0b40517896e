"""Arrays with a geometry but no memory: reserved address space whose pages are never written.

Meta tensors and wrapper subclasses use them. Nothing should read them; code that does finds zeros.
"""
from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.core.storage import UntypedStorage, contiguous_strides, owner_of

PRIVATE: int = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0x4000)


class AddressSpace(mmap.mmap):
    """Reserved address space, a type distinct from file-backed and shared memory."""


class InvalidStorage(UntypedStorage):
    """The storage of a wrapper subclass: it has a size and an identity, but no accessible bytes."""

    __slots__ = ()

    def data_ptr(self) -> int:
        raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")

    def __getitem__(self, index: Any) -> Any:
        return self.data_ptr()

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data_ptr()

    def tolist(self) -> list[int]:
        return [self.data_ptr()]

    def clone(self) -> UntypedStorage:
        return UntypedStorage(self.data_ptr())

    def fill_(self, value: int) -> UntypedStorage:
        return UntypedStorage(self.data_ptr())

    def copy_(self, source: Any, non_blocking: Any = None) -> UntypedStorage:
        return UntypedStorage(self.data_ptr())


def invalid_storage(array: np.ndarray) -> InvalidStorage:
    """The storage of a reserved array."""
    return InvalidStorage(owner_of(array))


def reserved_array(shape: Sequence[int], strides: tuple[int, ...], dtype: Any, offset: int = 0) -> np.ndarray:
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
    if memory is None:                # larger than the address space
        return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), tuple(shape), steps)
    whole = np.ndarray((count * dtype.itemsize,), np.uint8, memory)
    return np.ndarray(tuple(shape), dtype, whole if count else memory, offset * dtype.itemsize if count else 0, steps)


def contiguous_array(shape: Any, dtype: Any) -> Any:
    """A reserved array in row-major order."""
    return reserved_array(shape, contiguous_strides(shape), dtype)


def reserve(size: int) -> AddressSpace | None:
    """Reserve `nbytes` of address space; None if that fails."""
    try:
        options = {"flags": PRIVATE} if hasattr(mmap, "MAP_PRIVATE") else {}
        return AddressSpace(-1, max(size, 1), **options)
    except (OSError, OverflowError, ValueError):
        return None


def is_reserved(array: Any) -> bool:
    """Whether `array` lies in reserved address space."""
    while type(array) is np.ndarray:
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, AddressSpace)
