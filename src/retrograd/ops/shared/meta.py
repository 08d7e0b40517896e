"""Ops on `meta` tensors, which have a geometry but no data: shapes are inferred, nothing is computed."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import dtypes, storage
from retrograd.core.hooks import hooks
from retrograd.core.kernels import array_of, check_writable, compute_arrays
from retrograd.core.tensor import FLAG_META, Tensor, new_tensor, wrap
from retrograd.ops.memory.copy import meta_array


def infer(op: Any, args: Any) -> Any:
    """The results of `op` as meta tensors: from its `meta` column, or from its kernel on zeros of the same geometry."""
    device = args[op.device_arg] if op.device_arg >= 0 else None
    if device is not None and device.type != "meta":
        return finish(op, args, stand_in_result(op, args), False)
    if op.is_view:
        return finish(op, args, compute_arrays(op, args), True)
    if op.meta is not None:
        values = [array_of(a) for a in args]
        for i in op.dtype_args:
            if values[i] is not None:
                values[i] = values[i].numpy
        return finish(op, args, op.meta(np, *values), True)
    return finish(op, args, stand_in_result(op, args), True)


def stand_in_result(op: Any, args: Any) -> Any:
    return compute_arrays(op, [stand_in(a) for a in args])


def stand_in(value: Any) -> Any:
    """A real tensor of zeros for a meta tensor; everything else stays."""
    if isinstance(value, Tensor):
        if not value._flags & FLAG_META:
            return value
        strides = storage.strides_of(value.array)
        array = storage.empty_strided(value.array.shape, strides, value.array.dtype)
        storage.owner_of(array)[...] = 0
        return new_tensor(array)
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        return [stand_in(item) for item in value]
    return value


def finish(op: Any, args: Any, arrays: Any, is_meta: bool) -> Any:
    if op.is_inplace:
        target = args[0]
        source = dtypes.BY_NUMPY[arrays.dtype]
        if not dtypes.can_cast(source, target.dtype):
            raise RuntimeError(f"result type {source.legacy} can't be cast to the desired output type {target.dtype.legacy}")
        if arrays.shape != target.array.shape:
            raise RuntimeError(f"output with shape {list(target.array.shape)} doesn't match the broadcast shape "
                               f"{list(arrays.shape)}")
        check_writable(target.array)
        return target
    if not op.multiple:
        return as_meta(op, arrays) if is_meta else wrap(arrays)
    made = [None if a is None else as_meta(op, a) if is_meta else wrap(a) for a in arrays]
    return made if op.returns_list else op.result_type(*made) if op.result_type else tuple(made)


def as_meta(op: Any, array: Any) -> Any:
    """A meta tensor of the geometry of `array`; views keep their place in the memory that is not there."""
    array = np.asarray(array)
    t = wrap(array if op.is_view else meta_array(array.shape, storage.strides_of(array), array.dtype))
    t._flags |= FLAG_META
    return t


hooks.meta = infer
