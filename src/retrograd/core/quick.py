"""Calls of an op's compiled kernel on the arrays of its arguments, without promotion (`op.quick`, see recipe.py)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.core.lean import spread
from retrograd.core.opdef import OpDef
from retrograd.core.recipe import QUICK_CHECKED, QUICK_FLOATS
from retrograd.core.tensor import new_tensor

ndarray = np.ndarray


def quick_result(op: Any, args: Any, values: Any, floats: bool) -> Any:
    """The compiled kernel's result for `values`, the arguments with arrays for tensors; None if unsupported.

    `floats` says that all operands are tensors of float32 or float64, or real numbers.
    """
    if op.native is None:
        return None
    if op.quick == QUICK_FLOATS:
        if not floats:
            return None
    elif op.quick == QUICK_CHECKED and not passes(op, args):
        return None
    for i in op.dtype_args:
        if values[i] is not None:
            given = list(values)
            for k in op.dtype_args:
                if given[k] is not None:
                    given[k] = given[k].numpy
            return spread(op.native, given)
    return spread(op.native, values)


def write_quick(op: Any, args: Any, values: Any, floats: bool) -> bool:
    """Let the compiled kernel of an in-place op write to its target; False if unsupported."""
    x = values[0]
    flags = x.flags
    if not flags.c_contiguous or not flags.writeable or op.quick == QUICK_FLOATS and not floats:
        return False
    alone = op.traits and ("apart" in op.traits or "guarded" in op.traits)        # it must not write to what it reads
    if op.quick == QUICK_CHECKED and not passes(op, args):
        return False
    for i in op.dtype_args:
        if values[i] is not None:
            return False
    for i in op.tensor_args:
        value = values[i]
        if type(value) is ndarray:
            y = value
            if i and (alone if y is x else y.base is not None or x.base is not None):
                return False
    if op.into is None or spread(op.into, values) is None:
        made = spread(op.pure.native, values)
        if type(made) is not ndarray:
            return False
        y = made
        if y.dtype is not x.dtype or y.shape != x.shape:
            return False
        x[...] = y
    return True


def write_straight(op: Any, target: Any, other: Any) -> bool:
    """`write_quick` for an in-place op of one or two operands (`op.straight`); `other` is an array, a number or None."""
    flags = target.flags
    if not flags.c_contiguous or not flags.writeable:
        return False
    if other is None:
        return op.into(target) is not None
    if type(other) is ndarray:
        y = other
        if y is not target and (y.base is not None or target.base is not None):         # they may share memory
            return False
    return op.into(target, other) is not None


def passes(op: OpDef, args: Any) -> bool:
    """Whether the op's check accepts the arguments; if not, the general path raises its error, after other errors."""
    try:
        op.check(*args)
    except Exception:
        return False
    return True


def tensors_of(op: OpDef, arrays: Sequence[Any]) -> Any:
    """Tensors for the results of an op with several, in its return type."""
    results = [None if a is None else new_tensor(a if type(a) is ndarray else np.asarray(a)) for a in arrays]
    return results if op.returns_list else op.result_type(*results) if op.result_type is not None else tuple(results)
