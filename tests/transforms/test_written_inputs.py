"""Custom Functions under transforms: inputs that they write to, and gradients with more dimensions than their inputs."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.autograd import Function
from retrograd.func import grad, jvp, vjp, vmap


class Exponential(Function):
    """The exponential function, written to its argument."""

    @staticmethod
    def forward(x: Any) -> Any:
        x.detach().exp_()
        return x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * ctx.saved_tensors[0]

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return Exponential.apply(x), in_dims[0]

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent.mul_(ctx.saved_tensors[0])


class Doubled(Function):
    """Twice a tensor, whose rule gives a gradient with a leading dimension too many."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return torch.stack([gradient, gradient])

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * 2


X = torch.tensor([[0.5, 1.0], [1.5, 2.0], [0.0, -1.0]])


def written(x: Any) -> Any:
    return Exponential.apply(x.clone())


def test_written_input_is_the_output_under_vmap_of_vjp():
    def pull(x: Any) -> Any:
        output, back = vjp(written, x)
        return output, back(torch.ones(2))[0]
    output, gradient = vmap(pull)(X)
    assert torch.allclose(output, X.exp()) and torch.allclose(gradient, X.exp())


def test_written_input_is_the_output_under_jvp_of_vjp():
    def pull(x: Any, cotangent: Any) -> Any:
        return vjp(written, x)[1](cotangent)[0]
    value, tangent = jvp(pull, (X, X), (X, X))
    assert torch.allclose(value, X * X.exp()) and torch.allclose(tangent, X.exp() * (X + X * X))


def test_gradients_of_examples_are_summed_to_their_inputs():
    _, back = vjp(vmap(Doubled.apply), X)
    assert back(torch.ones(3, 2))[0].tolist() == [[2.0, 2.0]] * 3
    assert vmap(grad(lambda x: Doubled.apply(x).sum()))(X).tolist() == [[2.0, 2.0]] * 3
    _, back = vjp(vmap(vmap(Doubled.apply)), X)
    assert back(torch.ones(3, 2))[0].tolist() == [[2.0, 2.0]] * 3
