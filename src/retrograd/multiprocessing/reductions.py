"""How tensors travel between processes: their memory is shared, not copied, and keeps its identity on the other side."""
from __future__ import annotations

import os
import weakref
from multiprocessing import reduction
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import storage
from retrograd.core.shared_memory import descriptor_of, open_shared
from retrograd.core.storage import bytes_of, owner_of
from retrograd.methods.copies import reduce_by_memory

NON_LEAF = ("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
            "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., "
            "putting it on the queue).")


class Sending:
    """How this process sends: tensors with fewer bytes than `by_value_below` as bytes."""

    by_value_below = 0


def reduce_tensor(tensor: Any) -> Any:
    """What pickle needs to make the tensor again, over the same memory."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(NON_LEAF)
    if (tensor.is_meta or tensor.layout is not torch.strided or not tensor.numel()
            or tensor.untyped_storage().nbytes() < Sending.by_value_below):
        return tensor.__reduce_ex__(2)
    if tensor.is_shared() or tensor._base is None:
        sent = tensor.share_memory_().detach()
    else:       # a view cannot move without its base: a copy goes
        sent = tensor.detach().clone().share_memory_()
    make, (_, _, *rest) = reduce_by_memory(sent)
    owner = owner_of(sent.array)
    descriptor = descriptor_of(owner)
    assert descriptor is not None
    handle = reduction.DupFd(descriptor), len(bytes_of(owner))
    return rebuild_tensor, (make, type(tensor), handle, *rest[:-2], tensor.requires_grad, dict(vars(tensor)))


def rebuild_tensor(make: Any, cls: Any, handle: Any, *rest: Any) -> Any:
    shared, size = handle
    return make(cls, open_shared(shared.detach(), size), *rest)


def reduce_storage(memory: Any) -> Any:
    """The same for a storage by itself."""
    descriptor = descriptor_of(memory.owner)
    if descriptor is None:
        return rebuild_storage_bytes, (bytes_of(memory.owner),)
    return rebuild_storage, (reduction.DupFd(descriptor), len(memory))


def rebuild_storage(shared: Any, size: int) -> Any:
    return storage.UntypedStorage(open_shared(shared.detach(), size))


def rebuild_storage_bytes(memory: Any) -> Any:
    return storage.UntypedStorage(np.array(memory))


def fd_id(descriptor: int) -> tuple[int, int]:
    """What identifies the file behind a descriptor, which may have many."""
    status = os.fstat(descriptor)
    return status.st_ino, status.st_dev


def init_reductions() -> None:
    """Let queues and pipes of `multiprocessing` send tensors this way."""
    for kind in (torch.Tensor, torch.nn.Parameter):
        reduction.ForkingPickler.register(kind, reduce_tensor)
    reduction.ForkingPickler.register(storage.UntypedStorage, reduce_storage)


class StorageWeakRef:
    """A weak reference to a storage; equal for all views of the same memory.

    >>> import retrograd as torch
    >>> t = torch.ones(2)
    >>> StorageWeakRef(t.untyped_storage()) == StorageWeakRef(t.view(2, 1).untyped_storage())
    True
    """

    __slots__ = ("cdata", "reference")

    def __init__(self, memory: Any) -> None:
        owner = memory.untyped().owner
        self.cdata, self.reference = id(owner), weakref.ref(owner)

    def expired(self) -> bool:
        """Whether the storage is gone."""
        return self.reference() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, StorageWeakRef) and self.cdata == other.cdata
