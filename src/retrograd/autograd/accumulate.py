"""Accumulation into `.grad`: a gradient is stolen, copied into the parameter's layout, or added.

NOTE [Stealing]
A gradient without other references becomes `.grad` itself. Other references are detected by reference counts, compared with
those of a gradient known to be private (see `engine.calibrate`). Everything else is copied: a tensor that a user, a hook or
another edge still holds, and one whose strides violate the layout rule: `.grad` has the strides of its tensor if that is
dense without overlap, and is contiguous otherwise.
"""
from __future__ import annotations

from _thread import RLock
from sys import getrefcount

import numpy as np

from retrograd.core.hooks import hooks
from retrograd.core.state import switches, tls
from retrograd.core.storage import contiguous_strides, empty_strided, is_non_overlapping_and_dense, strides_of
from retrograd.core.tensor import FLAG_SPARSE, Tensor, bump, counter_of, new_tensor
from retrograd.ops import late

# NOTE [Locks]
# Threads may add to the same gradient concurrently, and NumPy releases the GIL while it adds. Each leaf has a lock (one of
# STRIPES, by its address), which is held only while arrays are added or copied, never around ops, which may call modes,
# subclasses and hooks. The lock is re-entrant, since a garbage collection may run arbitrary code at any time.
STRIPES = 64
LOCKS = [RLock() for _ in range(STRIPES)]


class Private:
    """The reference counts of an unshared gradient and its array inside `accumulate`."""

    __slots__ = ("array", "calibrating", "tensor")

    def __init__(self) -> None:
        self.calibrating: bool = False
        self.tensor: int = 0
        self.array: int = 0


private = Private()


def accumulate(variable: Tensor, grad: Tensor, create_graph: bool, held: int) -> None:
    """Add `grad` to `variable.grad`; `held` references of the caller do not count against stealing it."""
    if private.calibrating:
        private.tensor, private.array = getrefcount(grad), getrefcount(grad.array)
    old = variable._grad
    if create_graph or grad._flags or (old is not None and not is_plain(old)) or (switches.any_mode and tls.dispatch_modes):
        alone = getrefcount(grad) <= private.tensor + held       # a separate statement: call arguments count as references
        accumulate_watched(variable, grad, create_graph, alone)
        return
    lock = LOCKS[(id(variable) >> 6) & (STRIPES - 1)]
    lock.acquire()
    try:
        old = variable._grad              # another thread may have set it first
        if old is None:
            array = grad.array
            alone = getrefcount(grad) <= private.tensor + held
            fits = same_layout(array, variable.array)
            if (type(grad) is Tensor and alone and fits and array.base is None
                    and getrefcount(array) <= private.array + 1 and grad._node is None and not grad._requires):
                variable._grad = grad
            else:
                array = None              # type: ignore[assignment]
                variable._grad = copied(variable, grad, not (alone and fits))
            return
        if is_plain(old) and type(grad) is Tensor and old.array.dtype is grad.array.dtype:
            np.add(old.array, grad.array, out=old.array)
            bump(old)
            return
    finally:
        lock.release()
    accumulate_watched(variable, grad, create_graph, False)


def is_plain(old: Tensor) -> bool:
    """Whether an existing gradient can be added to on bare arrays."""
    return type(old) is Tensor and not old._flags and not old._requires


def accumulate_watched(variable: Tensor, grad: Tensor, create_graph: bool, alone: bool) -> None:
    """`accumulate` through ops visible to modes, subclasses and autograd; without a lock, since they may run arbitrary
    code."""
    while True:
        old = variable._grad
        new = combined(variable, old, grad, create_graph, alone)
        with LOCKS[(id(variable) >> 6) & (STRIPES - 1)]:
            if variable._grad is old or new is old:
                if variable._grad is not new:
                    variable._grad = new
                return


def combined(variable: Tensor, old: Tensor | None, grad: Tensor, create_graph: bool, alone: bool) -> Tensor:
    """The new gradient of `variable` after adding `grad` to `old`."""
    if grad._flags & FLAG_SPARSE or (old is not None and old._flags & FLAG_SPARSE):
        return hooks.accumulate_sparse(old, grad, create_graph, alone)
    if create_graph:
        return recorded_copy(variable, grad) if old is None else old + grad
    return first_gradient(variable, grad, alone) if old is None else hooks.add_gradient(old, grad)


def same_layout(array: np.ndarray, like: np.ndarray) -> bool:
    """Whether a gradient's strides follow the layout rule."""
    if array.flags.c_contiguous and like.flags.c_contiguous:
        return array.size == 0 or 0 not in array.strides or array.strides == like.strides
    return strides_of(array) == layout_strides(like)


def layout_strides(like: np.ndarray) -> tuple[int, ...]:
    """The strides that the gradient of an array must have."""
    strides = strides_of(like)
    return strides if is_non_overlapping_and_dense(like.shape, strides) else contiguous_strides(like.shape)


def first_gradient(variable: Tensor, grad: Tensor, alone: bool) -> Tensor:
    """A copy of `grad` in the layout of `variable` (the detached gradient itself if it is not strided)."""
    if grad._flags or (switches.any_mode and tls.dispatch_modes):
        return hooks.first_gradient(variable, grad, layout_strides(variable.array), alone)
    return copied(variable, grad, not (alone and same_layout(grad.array, variable.array)))


def copied(variable: Tensor, grad: Tensor, counted: bool) -> Tensor:
    """A copy of `grad` in the layout of `variable`, made on bare arrays.

    Where PyTorch copies too, into memory laid out like that of the variable, that write is counted. Where it keeps the
    gradient itself, the gradient's writes are.
    """
    writes = 0 if counted or grad._counter is None else grad._counter.n
    if variable.array.flags.c_contiguous and 1 not in variable.array.shape:
        made = new_tensor(grad.array.copy())
    else:
        strides = layout_strides(variable.array)
        array = empty_strided(grad.array.shape, strides, grad.array.dtype)
        array[...] = grad.array
        made = new_tensor(array)
        counted = counted and strides == strides_of(variable.array)
    if counted or writes:
        counter_of(made).n = writes or 1
    return made


def recorded_copy(variable: Tensor, grad: Tensor) -> Tensor:
    """A copy that autograd can differentiate: CopyBackwards, in the layout of `variable`."""
    strides = layout_strides(variable.array)
    if switches.any_mode and tls.dispatch_modes:
        return hooks.new_gradient(grad, strides)
    return late.copy_(new_tensor(empty_strided(grad.array.shape, strides, grad.array.dtype)), grad)
