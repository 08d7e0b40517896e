"""`forward_ad.dual_level` inside of transforms that take gradients: its tangents depend on their inputs."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.func import grad, jacfwd, jacrev, vjp, vmap

X = torch.tensor([0.5, 1.0])


def slope(function: Any, x: Any) -> Any:
    """The derivative of a function of elements, by a dual level of its own."""
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


def test_gradients_go_through_tangents() -> None:
    torch.testing.assert_close(grad(lambda x: slope(torch.sin, x).sum())(X), -X.sin())
    torch.testing.assert_close(vjp(lambda x: slope(torch.sin, x), X)[1](torch.ones(2))[0], -X.sin())
    torch.testing.assert_close(jacrev(lambda x: slope(torch.exp, x))(X), torch.diag(X.exp()))
    torch.testing.assert_close(vmap(grad(lambda x: slope(lambda d: d ** 3, x).sum()))(X.expand(3, 2)), (6 * X).expand(3, 2))


def test_transforms_that_take_gradients_go_inside_of_the_level_and_forward_mode_not_outside() -> None:
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        jacfwd(grad(lambda x: slope(torch.exp, x).sum()))(X)
    torch.testing.assert_close(grad(lambda x: slope(grad(lambda z: (z ** 3).sum()), x).sum())(X), torch.full((2,), 6.0))


def test_what_was_computed_in_the_level_goes_on_after_it() -> None:
    def function(x: Any) -> Any:
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, x * 2) * 3
            primal, tangent = forward_ad.unpack_dual(y)
        return (y * primal).sum() + (tangent ** 2).sum()
    torch.testing.assert_close(grad(function)(X), 90 * X)


def test_a_tensor_without_tangent_is_its_own_primal() -> None:
    def function(x: Any) -> Any:
        with forward_ad.dual_level():
            primal, tangent = forward_ad.unpack_dual(x)
            assert tangent is None
            return (primal * 2).sum()
    assert grad(function)(X).tolist() == [2, 2]


def test_a_second_tangent_is_refused_and_the_level_closed() -> None:
    def function(x: Any) -> Any:
        with forward_ad.dual_level():
            return forward_ad.make_dual(forward_ad.make_dual(x, x), x).sum()
    with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
        grad(function)(X)
    assert grad(lambda x: (x * x).sum())(X).tolist() == [1, 2]
    with forward_ad.dual_level():
        pass


def test_a_level_is_closed_where_it_was_opened() -> None:
    def function(x: Any) -> Any:
        forward_ad.enter_dual_level()
        try:
            with pytest.raises(RuntimeError, match="Trying to exit a forward AD level inside of a transform"):
                grad(lambda z: forward_ad.exit_dual_level() or z.sum())(x)
        finally:
            forward_ad.exit_dual_level()
        return x.sum()
    assert grad(function)(X).tolist() == [1, 1]
