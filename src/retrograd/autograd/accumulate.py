"""How a gradient gets into `.grad`: stolen, copied into the parameter's layout, or added.

NOTE [Stealing]
A gradient that nobody else can see becomes `.grad` itself. Whether anybody else holds it is read off reference counts,
compared with those of a gradient known to be private (see `engine.calibrate`). Everything else is copied: a tensor that
a user, a hook or another edge still holds, and one whose strides break the layout rule: `.grad` has the strides of its
tensor if that is dense without overlap, and is contiguous otherwise.
"""
from __future__ import annotations

from _thread import allocate_lock
from sys import getrefcount
from typing import Any

import numpy as np

from retrograd.core.hooks import hooks
from retrograd.core.state import switches, tls
from retrograd.core.storage import contiguous_strides, empty_strided, is_non_overlapping_and_dense, strides_of
from retrograd.core.tensor import FLAG_SPARSE, Tensor, bump, new_tensor
from retrograd.ops import late

lock = allocate_lock()


class Private:
    """The reference counts that an unshared gradient and its array have in `accumulate`."""

    __slots__ = ("array", "calibrating", "tensor")

    def __init__(self) -> None:
        self.calibrating: bool = False
        self.tensor: int = 0
        self.array: int = 0


private = Private()


def accumulate(variable: Any, grad: Any, create_graph: bool, held: int) -> None:
    """Add `grad` to `variable.grad`; `held` references of the caller do not count against stealing it."""
    if private.calibrating:
        private.tensor, private.array = getrefcount(grad), getrefcount(grad.array)
    lock.acquire()
    try:
        old = variable._grad
        if grad._flags & FLAG_SPARSE or (old is not None and old._flags & FLAG_SPARSE):
            alone = getrefcount(grad) <= private.tensor + held
            variable._grad = hooks.accumulate_sparse(old, grad, create_graph, alone)
        elif create_graph:
            variable._grad = recorded_copy(variable, grad) if old is None else old + grad
        elif old is None:
            array = grad.array
            if (type(grad) is Tensor and getrefcount(grad) <= private.tensor + held and array.base is None
                    and getrefcount(array) <= private.array + 1 and grad._flags == 0 and grad._node is None
                    and not grad._requires and same_layout(array, variable.array) and not tls.dispatch_modes):
                variable._grad = grad
            else:
                array = None
                alone = getrefcount(grad) <= private.tensor + held
                variable._grad = first_gradient(variable, grad, alone)
        else:
            add_to(variable, old, grad)
    finally:
        lock.release()


def same_layout(array: Any, like: Any) -> bool:
    """Whether a gradient's strides are what the layout rule asks for."""
    if array.flags.c_contiguous and like.flags.c_contiguous:
        return True
    return strides_of(array) == layout_strides(like)


def layout_strides(like: Any) -> Any:
    """The strides that the gradient of an array must have."""
    strides = strides_of(like)
    return strides if is_non_overlapping_and_dense(like.shape, strides) else contiguous_strides(like.shape)


def first_gradient(variable: Any, grad: Any, alone: bool) -> Any:
    """A copy of `grad` in the layout of `variable` (or the gradient itself, detached, where it is not strided)."""
    if grad._flags or (switches.any_mode and tls.dispatch_modes):
        return hooks.first_gradient(variable, grad, layout_strides(variable.array), alone)
    array = empty_strided(grad.array.shape, layout_strides(variable.array), grad.array.dtype)
    array[...] = grad.array
    return new_tensor(array)


def recorded_copy(variable: Any, grad: Any) -> Any:
    """A copy that autograd can differentiate: CopyBackwards, in the layout of `variable`."""
    strides = layout_strides(variable.array)
    if switches.any_mode and tls.dispatch_modes:
        return hooks.new_gradient(grad, strides)
    return late.copy_(new_tensor(empty_strided(grad.array.shape, strides, grad.array.dtype)), grad)


def add_to(variable: Any, old: Any, grad: Any) -> None:
    """Add in place, keeping the object that is already there."""
    if type(old) is Tensor and type(grad) is Tensor and not old._flags and not grad._flags and not (
            switches.any_mode and tls.dispatch_modes):
        if old.array.dtype is grad.array.dtype and not old._requires:
            np.add(old.array, grad.array, out=old.array)
            bump(old)
            return
    variable._grad = hooks.add_gradient(old, grad)
