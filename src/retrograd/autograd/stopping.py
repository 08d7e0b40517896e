"""Nodes that stop differentiation: by an error, as after `once_differentiable`, or with undefined gradients."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.core.graph import Node, connect, describe_outputs, edge_of, set_history
from retrograd.core.hooks import hooks
from retrograd.core.state import set_grad_enabled, tls
from retrograd.core.tensor import Tensor, wants_grad
from retrograd.ops import late


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward that is not itself differentiable: differentiating through it is an error.

    >>> import retrograd as torch
    >>> class Opaque(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return torch.from_numpy(grad.numpy() * 2)
    >>> x = torch.ones(1, requires_grad=True)
    >>> grad, = torch.autograd.grad(Opaque.apply(x).exp(), x, create_graph=True)
    >>> grad.backward()
    Traceback (most recent call last):
    RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable
    """
    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        was = set_grad_enabled(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            set_grad_enabled(was)
        if not tls.grad_enabled or not any([isinstance(a, Tensor) and wants_grad(a) for a in args]):
            return outputs
        single = not isinstance(outputs, tuple)
        values = (outputs,) if single else outputs
        failing = DelayedError("trying to differentiate twice a function that was marked with "
                               "@once_differentiable", len(values))
        results = failing(*[fake_leaf(v) for v in values])
        return results if single else tuple(results) if isinstance(results, (list, tuple)) else (results,)
    return wrapper


def fake_leaf(value: Any) -> Any:
    if value is None:
        return None
    leaf = hooks.detach(value)
    leaf._requires = True
    return leaf


class Error(Node):
    """A node that raises when it runs."""

    def __init__(self, message: str) -> None:
        Node.__init__(self)
        self.message = message

    def _run_(self, grads: Sequence[Any], needed: Any) -> Any:
        raise RuntimeError(self.message)


class DelayedError:
    """Passes tensors through and raises `message` in backward."""

    def __init__(self, message: str, count: int) -> None:
        self.message, self.count = message, count

    def __call__(self, *tensors: Any) -> Any:
        node = Error(self.message)
        connect(node, tensors)
        outputs = [None if t is None else hooks.detach(t) for t in tensors]
        if any([n is not None for n in node._next_]):
            for nr, t in enumerate(outputs):
                if t is not None:
                    set_history(t, node, nr)
            describe_outputs(node, outputs)
        return outputs[0] if len(outputs) == 1 else outputs


class UndefinedGradBackward(Node):
    """Discards gradients."""

    def _run_(self, grads: Sequence[Any], needed: Sequence[Any]) -> Any:
        return [None] * len(self._next_)


class UndefinedGrad:
    """Passes tensors through, with undefined gradients."""

    def __call__(self, *tensors: Any) -> Any:
        node = UndefinedGradBackward()
        connect(node, tensors)
        outputs = [late.clone(hooks.detach(t)) for t in tensors]
        for nr, t in enumerate(outputs):
            if edge_of(tensors[nr]) is not None:
                set_history(t, node, nr)
        describe_outputs(node, outputs)
        return outputs[0] if len(outputs) == 1 else outputs
