"""Custom Functions: details that the graph tests do not touch."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd.function import Function, once_differentiable


@pytest.mark.parametrize("as_tuple", [False, True])
def test_backward_marked_once_differentiable_gives_its_gradient_once(as_tuple: bool) -> None:
    class Opaque(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            made = torch.from_numpy(grad.numpy() * 2)
            return (made,) if as_tuple else made

    x = torch.ones(3, requires_grad=True)
    grad, = torch.autograd.grad(Opaque.apply(x).exp().sum(), x, create_graph=True)
    assert grad.shape == (3,) and grad.requires_grad
    with pytest.raises(RuntimeError, match="differentiate twice a function that was marked with @once_differentiable"):
        grad.sum().backward()
