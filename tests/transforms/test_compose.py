"""Checkpoints, hooks, no_grad and custom Functions inside of transforms and of transforms inside each other."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from retrograd.utils.checkpoint import checkpoint

X = torch.linspace(0.1, 1.2, 6, dtype=torch.float64).reshape(2, 3)
Scalar = Callable[[Any], Any]

TRANSFORMS: dict[str, Callable[[Scalar], Any]] = {
    "grad": lambda f: grad(f)(X[0]),
    "vmap(grad)": lambda f: vmap(grad(f))(X),
    "vmap(grad), in chunks": lambda f: vmap(grad(f), chunk_size=1)(X),
    "grad(vmap)": lambda f: grad(lambda x: vmap(f)(x).sum())(X),
    "grad(grad)": lambda f: grad(lambda x: grad(f)(x).sum())(X[0]),
    "grad(vmap(grad))": lambda f: grad(lambda x: vmap(grad(f))(x).sum())(X),
    "jvp": lambda f: jvp(f, (X[0],), (X[1],))[1],
    "jvp(grad)": lambda f: jvp(grad(f), (X[0],), (X[1],))[1],
    "vmap(jvp)": lambda f: vmap(lambda x, t: jvp(f, (x,), (t,))[1])(X, X),
    "vmap(vmap)": lambda f: vmap(vmap(lambda x: f(x.reshape(1))))(X),
    "jacrev": lambda f: jacrev(f)(X[0]),
    "jacfwd": lambda f: jacfwd(f)(X[0]),
    "hessian": lambda f: hessian(f)(X[0]),
}
each_transform = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=list(TRANSFORMS))


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, = ctx.saved_tensors
        return 2 * x * grad

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        x, = ctx.saved_tensors
        return 2 * x * tangent


def plain(x: Any) -> Any:
    return (x.sin() * x.exp()).sum()


@each_transform
def test_a_checkpoint_changes_nothing(transform: Any) -> None:
    def checkpointed(x: Any) -> Any:
        return checkpoint(lambda x: x.sin() * x.exp(), x, use_reentrant=False).sum()
    torch.testing.assert_close(transform(checkpointed), transform(plain))


@each_transform
def test_a_function_with_a_generated_rule_is_what_it_computes(transform: Any) -> None:
    torch.testing.assert_close(transform(lambda x: Square.apply(x).sin().sum()), transform(lambda x: (x * x).sin().sum()))


@pytest.mark.parametrize("name", ["grad", "vmap(grad)", "jacrev"])
def test_hooks_see_the_gradients_of_their_level(name: str) -> None:
    def hooked(x: Any) -> Any:
        y = x.sin()
        y.register_hook(lambda grad: grad * 2)
        return (y * x.exp()).sum()
    x = X if "vmap" in name else X[0]
    torch.testing.assert_close(TRANSFORMS[name](hooked), (2 * x.cos() + x.sin()) * x.exp())


@pytest.mark.parametrize(("name", "expected"), [
    ("grad", lambda x: x.cos() * x.exp()), ("vmap(grad)", lambda x: x.cos() * x.exp()),
    ("grad(grad)", lambda x: -x.sin() * x.exp()), ("grad(vmap(grad))", lambda x: -x.sin() * x.exp()),
])
def test_what_is_computed_in_no_grad_is_constant_to_every_level_around_it(name: str, expected: Any) -> None:
    def function(x: Any) -> Any:
        with torch.no_grad():
            constant = x.exp()
        return (x.sin() * constant).sum()
    torch.testing.assert_close(TRANSFORMS[name](function), expected(X if "vmap" in name else X[0]))


def test_no_grad_around_a_transform_is_not_its_business() -> None:
    with torch.no_grad():
        made = grad(plain)(X[0])
    torch.testing.assert_close(made, grad(plain)(X[0]))
