"""Autocast: while it is on, some ops compute in a lower precision and some in float32, whatever their inputs are.

It runs before every other layer: the casts are ordinary recorded ops, and ops called inside an op are not cast again. The
cast of a leaf is cached until the outermost scope ends, so that one cast serves all uses.
"""
from __future__ import annotations

from _thread import _local
from typing import Any
from weakref import ref

from retrograd.core import dtypes
from retrograd.core.device import CPU
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef
from retrograd.core.state import set_flag, tls
from retrograd.core.tensor import Tensor


class AutocastState(_local):
    """The autocast settings of one thread; `tls.autocast` is the active dtype, None while autocast is off."""

    dtype: Any = dtypes.bfloat16
    cache_enabled: bool = True
    nesting: int = 0

    def __init__(self) -> None:
        self.casts: dict[Any, tuple[Any, Any]] = {}       # (id of a leaf, dtype) -> (weak reference to it, its cast)


state = AutocastState()


def enable(on: bool) -> None:
    """Switch autocast for this thread."""
    set_flag("autocast", state.dtype if on else None)


def use_dtype(dtype: Any) -> None:
    state.dtype = dtype
    if tls.autocast is not None:
        tls.autocast = dtype


def run(op: OpDef, args: Any) -> Any:
    """Run an op under autocast."""
    lower = tls.autocast
    tls.autocast = None                   # only the flag: the slow-path count stays unchanged and is consistent again below
    try:
        if not (op.is_out or op.is_inplace):
            target = lower if op.autocast == "lower" else dtypes.float32
            if op.autocast == "widest" and not any([t.dtype is dtypes.float32 for t in tensors(args)]):
                target = lower
            args = [[cast(item, target, lower) for item in a] if isinstance(a, (list, tuple)) else cast(a, target, lower)
                    for a in args]
        return call(op, args)
    finally:
        tls.autocast = lower


def tensors(args: Any) -> list[Any]:
    found = []
    for a in args:
        found.extend([t for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)])
    return found


def cast(t: Tensor, target: dtypes.dtype, lower: dtypes.dtype) -> Tensor:
    """`t` in the dtype `target`, if it is a floating-point tensor that autocast may touch."""
    if not isinstance(t, Tensor) or not t.dtype.is_floating_point or t.dtype is dtypes.float64 or t.dtype is target or (
            t.device is not CPU):
        return t
    keep = (target is lower and t.dtype is dtypes.float32 and state.cache_enabled and t.requires_grad and t.is_leaf
            and t._view is None and tls.grad_enabled)
    if not keep:
        return hooks.to(t, target)
    found = state.casts.get((id(t), target))
    if found is not None and found[0]() is t:
        return found[1]
    made = hooks.to(t, target)
    state.casts[id(t), target] = (ref(t), made)
    return made


hooks.autocast = run
