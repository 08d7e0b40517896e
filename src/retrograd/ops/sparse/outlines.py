"""Sparse tensors on the `meta` device: their parts have a geometry but no data.

A kernel runs on zeros in place of the parts, and only the geometry of its result is kept.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.opdef import OpDef
from retrograd.core.storage import strides_of
from retrograd.core.tensor import FLAG_META, Tensor, new_tensor
from retrograd.ops.memory.copy import meta_array
from retrograd.ops.sparse.coo import data_of, is_sparse, sparse_tensor

PARTS = ("indices", "values", "compressed", "plain")


def outline(t: Any) -> Any:
    """Replace a tensor's data by its geometry, and return the tensor."""
    if is_sparse(t):
        data = data_of(t)
        for name in PARTS:
            if hasattr(data, name):
                setattr(data, name, outline(new_tensor(getattr(data, name).array)))
    else:
        t.array = meta_array(t.array.shape, strides_of(t.array), t.array.dtype)
    t._flags |= FLAG_META
    return t


def filled(value: Any) -> Any:
    """An argument with zeros for the missing data of meta tensors."""
    if isinstance(value, (list, tuple)):
        return [filled(item) for item in value]
    if not isinstance(value, Tensor) or not value._flags & FLAG_META:
        return value
    if not is_sparse(value):
        return new_tensor(np.zeros(value.array.shape, value.array.dtype))
    data = data_of(value).copy()
    for name in PARTS:
        if hasattr(data, name):
            setattr(data, name, filled(getattr(data, name)))
    if hasattr(data, "compressed"):
        data.compressed.array[..., -1] = data.plain.array.shape[-1]      # all entries in one row
    return sparse_tensor(data, value.array.shape)


def without_data(op: OpDef, args: Any) -> bool:
    """Whether an op creates tensors on the meta device."""
    device = args[op.device_arg] if op.device_arg >= 0 else None
    if device is not None:
        return bool(device.type == "meta")
    return any([t._flags & FLAG_META for a in args for t in (a if isinstance(a, (list, tuple)) else (a,))
                if isinstance(t, Tensor)])


def run_outlined(run: Any, op: OpDef, args: Any) -> Any:
    """The geometry of the result of `run` for `op`."""
    if op.name.startswith("_to_sparse") and not is_sparse(args[0]):
        raise NotImplementedError(f"aten::{op.name}: attempted to run this operator with Meta tensors, but there was no fake "
                                  "impl or Meta kernel registered for this operator: the number of entries depends on values.")
    given = [filled(value) for value in args]
    if op.device_arg >= 0:
        given[op.device_arg] = None
    made = run(op, given)
    if op.is_inplace:
        target = outline(given[0])
        args[0].array = target.array
        if is_sparse(target):
            args[0]._extra.sparse = target._extra.sparse
        return args[0]
    if isinstance(made, (list, tuple)):
        for t in made:
            outline(t)
        return made
    return outline(made) if isinstance(made, Tensor) else made
