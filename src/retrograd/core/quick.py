"""Calls where nothing is recorded, straight to the compiled kernel of the op (`op.quick`, see recipe.py)."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.kernels import FLOAT32, FLOAT64
from retrograd.core.opdef import OpDef
from retrograd.core.recipe import QUICK_CHECKED, QUICK_FLOATS
from retrograd.core.state import grad_enabled, switches
from retrograd.core.tensor import Tensor, bump, new_tensor

ndarray = np.ndarray


def call_native(op: Any, args: Any) -> Any:
    """What the op's compiled kernel makes of ordinary tensors where nothing is recorded; None if it is for the general way."""
    native = op.native
    values = list(args)
    if native is None or not quick_arrays(op, values, (op.differentiable or op.composite) and (
            switches.any_mode == 0 or grad_enabled())):
        return None
    if op.quick == QUICK_CHECKED and not passes(op, args):
        return None
    for i in op.dtype_args:
        if values[i] is not None:
            values[i] = values[i].numpy
    made = native(*values)
    if type(made) is ndarray:
        return new_tensor(made)
    return None if made is None else tensors_of(op, made)


def write_native(op: Any, args: Any) -> Any:
    """The target of an in-place op after its compiled kernel has written to it; None if it is for the general way."""
    target = args[0]
    values = list(args)
    records = switches.any_mode == 0 or grad_enabled()
    if records and target._view is not None or not quick_arrays(op, values, records):
        return None
    x = target.array
    if not x.flags.c_contiguous or op.quick == QUICK_CHECKED and not passes(op, args):
        return None
    for i in op.dtype_args:
        if values[i] is not None:
            return None
    for i in op.tensor_args:
        value = values[i]
        if type(value) is ndarray:
            y = value
            if y is not x and (y.base is not None or x.base is not None):
                return None
    native = op.pure.native
    if native is None:
        return None
    into = getattr(native, "into", None)
    if into is None or into(x, *values) is None:
        made = native(*values)
        if type(made) is not ndarray:
            return None
        y = made
        if y.dtype is not x.dtype or y.shape != x.shape:
            return None
        x[...] = y
    bump(target)
    return target


def passes(op: OpDef, args: Any) -> bool:
    """Whether the op's check has nothing against the arguments. What it has, the general way says, after what else is wrong."""
    try:
        op.check(*args)
    except Exception:
        return False
    return True


def quick_arrays(op: Any, values: Any, records: bool) -> bool:
    """Put arrays in the place of the tensors in `values`; False if one of them has to be recorded or looked at."""
    floats = op.quick == QUICK_FLOATS
    for i in op.tensor_args:
        value = values[i]
        if isinstance(value, Tensor):
            t = value
            if records and (t._requires or (t._view is not None and t._view.base._requires)):
                return False
            array = t.array
            if floats and array.dtype is not FLOAT32 and array.dtype is not FLOAT64:
                return False
            values[i] = array
        elif type(value) is list:
            arrays = []
            for item in value:
                if not isinstance(item, Tensor):
                    return False
                t = item
                if records and (t._requires or (t._view is not None and t._view.base._requires)):
                    return False
                array = t.array
                if floats and array.dtype is not FLOAT32 and array.dtype is not FLOAT64:
                    return False
                arrays.append(array)
            values[i] = arrays
        elif value is not None and floats:
            return False
    return True


def tensors_of(op: OpDef, arrays: Any) -> Any:
    """Tensors for the several results of an op, in the type that it returns."""
    results = [None if a is None else new_tensor(a if type(a) is ndarray else np.asarray(a)) for a in arrays]
    return results if op.returns_list else op.result_type(*results) if op.result_type is not None else tuple(results)
