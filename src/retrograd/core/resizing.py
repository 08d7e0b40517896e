"""`UntypedStorage.resize_`: moves a storage to memory of another size, with all tensors on it."""
from __future__ import annotations

import gc
import weakref
from itertools import compress
from typing import Any

import numpy as np

from retrograd.core.hooks import hooks
from retrograd.core.storage import STORAGES, UntypedStorage, bytes_of, offset_of, owner_of
from retrograd.core.tensor import Tensor


def resize_storage(stored: UntypedStorage, nbytes: int, memory: Any = None) -> None:
    """Move `stored` to memory of `nbytes` bytes: new memory, or some that is given.

    A NumPy array cannot follow its memory, so every tensor gets a new array. Tensors that no longer fit keep their shape
    and read zeros until the storage grows again.
    """
    old = stored.owner
    memory = np.zeros(nbytes, np.uint8) if memory is None else memory
    kept = min(nbytes, old.nbytes)
    if not stored.meta:
        memory[:kept] = bytes_of(old)[:kept]
    def forget(reference: Any) -> None:
        if not any([waiting[0]() is not None for waiting in stored.waiting]):
            KEPT.pop(id(stored), None)

    found = [(weakref.ref(t, forget), t.array.dtype, *geometry(t.array)) for t in tensors_on(old)] + stored.waiting
    stored.owner, stored.waiting = memory, []
    STORAGES[id(memory)] = stored
    for reference, dtype, offset, shape, strides in found:
        tensor = reference()
        if tensor is None:
            continue
        last = offset + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)]) + dtype.itemsize
        if last <= nbytes or 0 in shape:
            tensor.array = np.ndarray(shape, dtype, memory, 0 if 0 in shape else offset, strides)
        else:
            if stored.parked is None:
                stored.parked = np.zeros(16, np.uint8)
                STORAGES[id(stored.parked)] = stored
            tensor.array = np.ndarray(shape, dtype, stored.parked, 0, (0,) * len(shape))
            tensor.array.flags.writeable = False
            stored.waiting.append((reference, dtype, offset, shape, strides))
    if stored.waiting:
        KEPT[id(stored)] = stored
    else:
        KEPT.pop(id(stored), None)


KEPT: dict[int, UntypedStorage] = {}          # storages with tensors that do not fit; those tensors hold no reference to them


def tensors_on(owner: Any) -> list[Any]:
    """All tensors whose memory is that of `owner`."""
    objects = gc.get_objects()            # hundreds of thousands: chosen without a loop in Python
    tensors = compress(objects, map(subclasses_of(Tensor).__contains__, map(type, objects)))
    return [t for t in tensors if type(t.array) is np.ndarray and owner_of(t.array) is owner]


def subclasses_of(cls: type) -> set[type]:
    """The class and all classes derived from it."""
    derived: list[type] = cls.__subclasses__()
    return {cls}.union(*[subclasses_of(each) for each in derived])


def geometry(array: Any) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Offset in bytes, shape, and strides in bytes."""
    return offset_of(array) * array.itemsize, array.shape, array.strides


hooks.resize_storage = resize_storage
