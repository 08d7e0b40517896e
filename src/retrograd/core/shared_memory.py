"""Memory that processes share: bytes over anonymous files, which one process passes to another by file descriptor."""
from __future__ import annotations

import mmap
import os
from typing import Any
from weakref import WeakValueDictionary, finalize

import numpy as np

descriptors: dict[int, int] = {}                                # id of the array that owns shared bytes -> its file descriptor
opened: WeakValueDictionary[tuple[int, int], Any] = WeakValueDictionary()       # file -> the array over it in this process


def new_shared(nbytes: int) -> Any:
    """New zero bytes that can be shared with other processes."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("retrograd", os.MFD_CLOEXEC)
    else:
        import tempfile  # needed only where there is no memfd_create
        descriptor, path = tempfile.mkstemp(prefix="retrograd")
        os.unlink(path)
    os.ftruncate(descriptor, max(nbytes, 1))
    return open_shared(descriptor, nbytes)


def open_shared(descriptor: int, nbytes: int) -> Any:
    """The bytes of a file descriptor, which the array then owns; the same array each time for the same file."""
    status = os.fstat(descriptor)
    key = status.st_dev, status.st_ino
    found = opened.get(key)
    if found is not None:
        os.close(descriptor)
        return found
    made = np.frombuffer(mmap.mmap(descriptor, max(nbytes, 1)), np.uint8, nbytes)
    descriptors[id(made)] = descriptor
    opened[key] = made
    finalize(made, close, id(made), descriptor)
    return made


def close(identity: int, descriptor: int) -> None:
    descriptors.pop(identity, None)
    try:
        os.close(descriptor)
    except OSError:     # the interpreter is shutting down
        pass


def descriptor_of(owner: Any) -> int | None:
    """The file descriptor of an array's memory; None if the memory is not shared."""
    return descriptors.get(id(owner))
