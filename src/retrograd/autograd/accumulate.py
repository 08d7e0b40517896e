"""How a gradient gets into `.grad`: stolen, copied into the parameter's layout, or added.

NOTE [Stealing]
A gradient that nobody else can see becomes `.grad` itself. Whether anybody else holds it is read off reference counts,
compared with those of a gradient known to be private (see `engine.calibrate`). Everything else is copied: a tensor that
a user, a hook or another edge still holds, and one whose strides break the layout rule: `.grad` has the strides of its
tensor if that is dense without overlap, and is contiguous otherwise.
"""
from __future__ import annotations

from _thread import RLock
from sys import getrefcount
from typing import Any

import numpy as np

from retrograd.core.hooks import hooks
from retrograd.core.state import switches, tls
from retrograd.core.storage import contiguous_strides, empty_strided, is_non_overlapping_and_dense, strides_of
from retrograd.core.tensor import FLAG_SPARSE, Tensor, bump, counter_of, new_tensor
from retrograd.ops import late

# NOTE [Locks]
# Threads may add to the same gradient at once, and NumPy lets go of the interpreter while it adds. Each leaf has a lock (one
# of STRIPES, by its address), which is held only while arrays are added or copied: never around ops, which modes, subclasses
# and hooks see. It can be taken again by the thread that has it, since a garbage collection may run anything at any time.
STRIPES = 64
LOCKS = [RLock() for _ in range(STRIPES)]


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
    old = variable._grad
    if create_graph or grad._flags or (old is not None and not is_plain(old)) or (switches.any_mode and tls.dispatch_modes):
        alone = getrefcount(grad) <= private.tensor + held       # on a line of its own: arguments of a call count too
        accumulate_watched(variable, grad, create_graph, alone)
        return
    lock = LOCKS[(id(variable) >> 6) & (STRIPES - 1)]
    lock.acquire()
    try:
        old = variable._grad              # another thread may have come first
        if old is None:
            array = grad.array
            alone = getrefcount(grad) <= private.tensor + held
            fits = same_layout(array, variable.array)
            if (type(grad) is Tensor and alone and fits and array.base is None
                    and getrefcount(array) <= private.array + 1 and grad._node is None and not grad._requires):
                variable._grad = grad
            else:
                array = None
                variable._grad = copied(variable, grad, not (alone and fits))
            return
        if is_plain(old) and type(grad) is Tensor and old.array.dtype is grad.array.dtype:
            np.add(old.array, grad.array, out=old.array)
            bump(old)
            return
    finally:
        lock.release()
    accumulate_watched(variable, grad, create_graph, False)


def is_plain(old: Any) -> bool:
    """Whether a gradient that is there can be added to on bare memory."""
    return type(old) is Tensor and not old._flags and not old._requires


def accumulate_watched(variable: Any, grad: Any, create_graph: bool, alone: bool) -> None:
    """The same by ops that modes, subclasses and autograd see, without a lock: they may run anything, also this again."""
    while True:
        old = variable._grad
        new = combined(variable, old, grad, create_graph, alone)
        with LOCKS[(id(variable) >> 6) & (STRIPES - 1)]:
            if variable._grad is old or new is old:
                if variable._grad is not new:
                    variable._grad = new
                return


def combined(variable: Any, old: Any, grad: Any, create_graph: bool, alone: bool) -> Any:
    """The gradient that `variable` has after `grad` came to `old`."""
    if grad._flags & FLAG_SPARSE or (old is not None and old._flags & FLAG_SPARSE):
        return hooks.accumulate_sparse(old, grad, create_graph, alone)
    if create_graph:
        return recorded_copy(variable, grad) if old is None else old + grad
    return first_gradient(variable, grad, alone) if old is None else hooks.add_gradient(old, grad)


def same_layout(array: Any, like: Any) -> bool:
    """Whether a gradient's strides are what the layout rule asks for."""
    if array.flags.c_contiguous and like.flags.c_contiguous:
        return array.size == 0 or 0 not in array.strides or array.strides == like.strides
    return strides_of(array) == layout_strides(like)


def layout_strides(like: Any) -> Any:
    """The strides that the gradient of an array must have."""
    strides = strides_of(like)
    return strides if is_non_overlapping_and_dense(like.shape, strides) else contiguous_strides(like.shape)


def first_gradient(variable: Any, grad: Any, alone: bool) -> Any:
    """A copy of `grad` in the layout of `variable` (or the gradient itself, detached, where it is not strided)."""
    if grad._flags or (switches.any_mode and tls.dispatch_modes):
        return hooks.first_gradient(variable, grad, layout_strides(variable.array), alone)
    return copied(variable, grad, not (alone and same_layout(grad.array, variable.array)))


def copied(variable: Any, grad: Any, counted: bool) -> Any:
    """A copy of `grad` in the layout of `variable`, on bare memory.

    Where PyTorch copies too, into memory laid out like that of the variable, that write is counted.
    """
    if variable.array.flags.c_contiguous and 1 not in variable.array.shape:
        made = new_tensor(grad.array.copy())
    else:
        strides = layout_strides(variable.array)
        array = empty_strided(grad.array.shape, strides, grad.array.dtype)
        array[...] = grad.array
        made = new_tensor(array)
        counted = counted and strides == strides_of(variable.array)
    if counted:
        counter_of(made).n = 1
    return made


def recorded_copy(variable: Any, grad: Any) -> Any:
    """A copy that autograd can differentiate: CopyBackwards, in the layout of `variable`."""
    strides = layout_strides(variable.array)
    if switches.any_mode and tls.dispatch_modes:
        return hooks.new_gradient(grad, strides)
    return late.copy_(new_tensor(empty_strided(grad.array.shape, strides, grad.array.dtype)), grad)
