"""Products with Jacobians and Hessians, and whole ones."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import functional
from retrograd.testing import assert_close

X, Y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0])


def product_and_sum(x: Any, y: Any) -> Any:
    return x * y, x + y


def cubes(x: Any) -> Any:
    return (x ** 3).sum()


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobian_has_a_block_for_every_output_and_input(options: Any) -> None:
    blocks = functional.jacobian(product_and_sum, (X, Y), **options)
    eye = torch.eye(3)
    for found, expected in zip(blocks, [(torch.diag(Y), torch.diag(X)), (eye, eye)], strict=True):
        assert_close(tuple(found), expected)
    assert functional.jacobian(lambda x: x.exp(), torch.ones(2, 2), **options).shape == (2, 2, 2, 2)


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}])
def test_hessian_is_the_matrix_of_second_derivatives(options: Any) -> None:
    assert_close(functional.hessian(cubes, X, **options).detach(), torch.diag(6 * X))


def test_products_agree_with_the_matrices() -> None:
    matrix = functional.jacobian(lambda x: x.sum() * x, X)
    assert_close(functional.vjp(lambda x: x.sum() * x, X, Y)[1], Y @ matrix)
    assert_close(functional.jvp(lambda x: x.sum() * x, X, Y)[1], matrix @ Y)
    second = functional.hessian(lambda x: x.prod(), X)
    assert_close(functional.vhp(lambda x: x.prod(), X, Y)[1], Y @ second)
    assert_close(functional.hvp(lambda x: x.prod(), X, Y)[1], second @ Y)


def test_results_are_differentiable_only_when_asked() -> None:
    x = X.clone().requires_grad_()
    assert functional.jacobian(cubes, x).grad_fn is None
    functional.jacobian(cubes, x, create_graph=True).sum().backward()
    assert_close(x.grad, 6 * X)


def test_what_is_not_connected_is_zero_or_in_strict_mode_an_error() -> None:
    assert_close(functional.jacobian(lambda x, y: x * 2, (X, Y))[1], torch.zeros(3, 3))
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent of input 1"):
        functional.jacobian(lambda x, y: x * 2, (X, Y), strict=True)
    with pytest.raises(RuntimeError, match="does not require gradients"):
        functional.vjp(lambda x: x.detach(), X, Y, strict=True)
    with pytest.raises(RuntimeError, match="independent of the input"):
        functional.hessian(lambda x: x.sum(), X, strict=True)


def test_arguments_are_checked() -> None:
    with pytest.raises(RuntimeError, match="v has invalid size"):
        functional.vjp(torch.exp, X, torch.ones(2))
    with pytest.raises(RuntimeError, match="v can only be None"):
        functional.jvp(torch.exp, X)
    with pytest.raises(TypeError, match="inputs given to vjp must be either a Tensor or a tuple of Tensors"):
        functional.vjp(torch.exp, 3)
    with pytest.raises(RuntimeError, match="should contain a single element"):
        functional.hessian(torch.exp, X)
    with pytest.raises(AssertionError, match="Expected strategy"):
        functional.jacobian(torch.exp, X, strategy="sideways")
