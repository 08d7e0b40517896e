"""The autograd fallback: what happens to gradients at an op for which no autograd kernel was registered.

NOTE [Autograd fallback]
An op with a kernel for its backend and nothing for autograd has no known derivative. In mode "nothing"
its kernel runs, and what it does to tensors is recorded or not as the kernel has it. In mode "warn" the same happens, and
a warning when a gradient gets there: outputs that do not require grad get a node that warns and passes nothing on;
outputs that do (the kernel was made of recorded ops, or returned an input) get a hook that warns, and so does the base
of an output that was written to and is a view. An output that was written to and requires no grad is left alone.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.graph import Node, connect, describe_outputs, set_history
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, wants_grad
from retrograd.library.arguments import tensors_in

MODES = ("nothing", "warn")


class Fallback:
    """The mode of the process."""

    mode = "warn"


def get_autograd_fallback_mode() -> str:
    return Fallback.mode


def set_autograd_fallback_mode(mode: str) -> None:
    """Choose what is done about ops without an autograd kernel: "nothing" or "warn"."""
    if mode == "error":
        raise RuntimeError("NYI: mode='error'")
    if mode not in MODES:
        raise RuntimeError(f"Unsupported AutogradFallbackMode: {mode}; it is one of {', '.join(MODES)}")
    Fallback.mode = mode


@contextmanager
def autograd_fallback_mode(mode: str) -> Iterator[None]:
    """Choose the mode for a scope."""
    was = Fallback.mode
    set_autograd_fallback_mode(mode)
    try:
        yield
    finally:
        Fallback.mode = was


class WarnNotImplemented(Node):
    """A node that no gradient passes."""

    __slots__ = ("op",)
    op: str

    def name(self) -> str:
        return "torch::autograd::WarnNotImplemented"

    def __repr__(self) -> str:
        return f"<CppFunction object at {id(self):#x}>"

    def _run_(self, grads: Any, needed: Any) -> Any:
        warn(self.op, None)
        return [None] * len(self._next_)


def warn(name: str, grad: Any) -> None:
    warnings.warn(f"{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through "
                  "it. This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a "
                  "future version of PyTorch. If your operator is differentiable, please ensure you have registered an "
                  "autograd kernel to the correct Autograd key (e.g. DispatchKey::Autograd, "
                  "DispatchKey::CompositeImplicitAutograd). If "
                  "your operator is not differentiable, or to squash this warning and use the previous behavior, please "
                  "register torch::CppFunction::makeFallthrough() to DispatchKey::Autograd.", UserWarning, stacklevel=2)


def run(op: Any, args: Any, below: Any) -> Any:
    """Run an op that has no autograd kernel."""
    inputs = tensors_in(args)
    if Fallback.mode == "nothing" or not tls.grad_enabled or not any([wants_grad(t) for t in inputs]):
        return below(op, args)
    node = WarnNotImplemented()
    node.op = op.declared.qualified_name
    connect(node, inputs)
    result = below(op, args)
    declared = op.declared.returns
    outputs = [(t, item.is_write) for item, value in zip(declared, result if len(declared) > 1 else (result,), strict=False)
               for t in (value if isinstance(value, (list, tuple)) else (value,))]
    shown = [t if isinstance(t, Tensor) and BY_NUMPY[t.array.dtype].category >= 2 and not (wants_grad(t) or written) else None
             for t, written in outputs]
    describe_outputs(node, shown)
    for nr, (t, written) in enumerate(outputs):
        if shown[nr] is not None:
            set_history(t, node, nr)
        elif isinstance(t, Tensor) and wants_grad(t):
            hook = functools.partial(warn, node.op)
            t.register_hook(hook)
            if written and t._base is not None and t._base.requires_grad:
                t._base.register_hook(hook)
    return result
