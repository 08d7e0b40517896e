"""Ops used by forward mode: memory for the tangent of a tensor."""
from __future__ import annotations

from typing import Any

from retrograd.core import storage
from retrograd.core.opdef import defop
from retrograd.ops.shared import families


def zeros_with_same_meta(xp: Any, self: Any, other: Any, self_num_batch_dims: int) -> Any:
    """Zeros in the memory layout of `other`, repeated for the leading dimensions of `self`."""
    batch = tuple(self.shape[:self_num_batch_dims])
    length = storage.owner_of(other).nbytes // other.itemsize
    strides, step = [], length
    for n in reversed(batch):
        strides.append(step)
        step *= n
    memory = xp.zeros(step, other.dtype)
    return storage.strided(memory, (*batch, *other.shape), (*reversed(strides), *storage.strides_of(other)),
                           storage.offset_of(other))


new_zeros_with_same_feature_meta = defop(
    "_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor",
    kernel=zeros_with_same_meta, batch=families.loop, variants="",
)
