"""Sparse gradients of dense tensors: of gather and embedding, and their accumulation."""
from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.dtypes import int64
from retrograd.core.hooks import hooks
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.shared.families import wrap_dim
from retrograd.ops.sparse.construct import coo_unsafe
from retrograd.ops.sparse.coo import Coo, data_of, is_coo, sparse_tensor


# ---- gradients with an entry for every read element
def gather_gradient(self: Any, dim: int, index: Any, grad: Any) -> Any:
    """The gradient of `gather` as entries in the order of `index`."""
    shape, rank = self.array.shape, self.array.ndim
    if rank == 0:
        count = max(index.array.size, 1)
        return coo_unsafe(new_tensor(np.zeros((0, count), np.int64)), late.reshape(grad, (count,)), ())
    places = index.array if index.array.ndim else index.array[None]
    columns = lean.stack([lean.broadcast_to(n, places.shape).reshape(-1) for n in np.indices(places.shape, sparse=True)])
    columns[wrap_dim(dim, rank)] = places.reshape(-1)
    return coo_unsafe(new_tensor(columns.astype(np.int64)), late.reshape(grad, (-1,)), shape)


def embedding_gradient(grad: Any, indices: Any, rows: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """The gradient of `embedding` as one row for every index, those of the padding left out."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    width = grad.array.shape[-1]
    flat = late.reshape(indices, (-1,))
    values = late.reshape(grad, (-1, width))
    if padding_idx != -1:
        kept = new_tensor(np.nonzero(flat.array != padding_idx)[0])
        flat, values = late.index_select(flat, 0, kept), late.index_select(values, 0, kept)
    return coo_unsafe(late.to(late.reshape(flat, (1, -1)), int64), values, (rows, width))


# ---- accumulation
def accumulate(old: Any, grad: Any, create_graph: bool, alone: bool) -> Any:
    """The new `.grad` when the gradient or the one before is sparse (see NOTE [Stealing] in autograd/accumulate.py)."""
    if old is None:
        if not create_graph and alone and is_coo(grad) and unshared(data_of(grad)):
            data = data_of(grad)
            # like the constructor, which does not mark it as coalesced
            return sparse_tensor(Coo(data.indices, data.values, data.values.array.shape[0] < 2), grad.array.shape)
        return late.clone(grad)
    if is_coo(old) and not is_coo(grad):
        return grad + old
    if create_graph:
        return old + grad
    return late.add_(old, grad)


def unshared(data: Any) -> bool:
    """Whether the parts of a gradient have no other references, so that they can be kept."""
    return (getrefcount(data.indices) <= PRIVATE and getrefcount(data.values) <= PRIVATE
            and data.indices.array.flags.c_contiguous and data.values.array.flags.c_contiguous)


def lone_count() -> int:
    """The reference count of a part that only its Coo holds."""
    probe = Coo(new_tensor(np.zeros(1)), None, True)
    return getrefcount(probe.indices)


PRIVATE = lone_count()
hooks.accumulate_sparse = accumulate
hooks.gather_gradient = gather_gradient
hooks.embedding_gradient = embedding_gradient
