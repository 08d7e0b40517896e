"""Sparse Jacobians and Hessians against dense ones."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd.functional import jacobian
from retrograd.core.tensor import new_tensor
from retrograd.func import (
    color_hessian,
    color_jacobian,
    hessian,
    hessian_pattern,
    jacobian_pattern,
    jacrev,
    sparse_hessian,
    sparse_jacobian,
)


def stencil(x: Any) -> Any:
    return x[1:-1] ** 2 * x[2:] - x[:-2].sin() * x[1:-1]


def grid(x: Any) -> Any:
    image = x.view(4, 5)
    inner = image[1:-1, 1:-1] * 4 - image[:-2, 1:-1] - image[2:, 1:-1] - image[1:-1, :-2] - image[1:-1, 2:]
    return (inner ** 3).exp()


def coupled(x: Any) -> Any:
    return torch.cat([stencil(x), (x * x).sum().unsqueeze(0)])


def written(x: Any) -> Any:
    y = x * 2
    y[1:].mul_(x[:-1])
    return y


FUNCTIONS = {
    "elements": torch.tanh, "stencil": stencil, "grid": grid, "coupled": coupled, "written": written,
    "number": lambda x: (x ** 2).prod(), "matrix": lambda x: x.view(4, 5) @ x.view(5, 4),
    "constant": lambda x: torch.ones(3, dtype=x.dtype), "segments": lambda x: x.view(4, 5).softmax(1) * x.view(4, 5),
    "convolution": lambda x: torch.nn.functional.conv2d(x.view(1, 1, 4, 5), x[:4].view(1, 1, 2, 2)).tanh(),
}
SCALARS = {
    "rosenbrock": lambda x: ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum(),
    "separate": lambda x: (x ** 4).sum(), "arrow": lambda x: (x[0] * x[1:] ** 2).sum(), "quadratic": lambda x: x @ x,
    "dense": lambda x: x.sum() ** 3, "stencil": lambda x: (stencil(x) ** 2).sum(), "grid": lambda x: grid(x).log().sum(),
    "indexed": lambda x: (x[torch.tensor([0, 3, 3])] * x[torch.tensor([1, 2, 3])]).sum(), "linear": lambda x: x.sum(),
    "logistic": lambda x: torch.nn.functional.softplus(x.view(4, 5).sum(1)).sum(),
}


def point() -> Any:
    return new_tensor(np.random.default_rng(0).uniform(0.2, 0.9, 20))


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sparse_jacobian_is_the_dense_one(name: str, mode: str) -> None:
    function, x = FUNCTIONS[name], point()
    coloring = color_jacobian(jacobian_pattern(function)(x), mode)
    made = sparse_jacobian(function, coloring=coloring)(x)
    dense = jacrev(function)(x).numpy().reshape(-1, 20)
    assert made.shape == dense.shape
    assert made.dtype == dense.dtype
    np.testing.assert_allclose(made.toarray(), dense, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SCALARS)
def test_sparse_hessian_is_the_dense_one(name: str) -> None:
    function, x = SCALARS[name], point()
    made = sparse_hessian(function)(x)
    np.testing.assert_allclose(made.toarray(), hessian(function)(x).numpy(), rtol=1e-10, atol=1e-10)


def test_rosenbrock_takes_three_products() -> None:
    pattern = hessian_pattern(SCALARS["rosenbrock"])(point())
    assert pattern.nnz == 20 + 2 * 19
    assert color_hessian(pattern).count == 3


def test_coloring_serves_other_points() -> None:
    coloring = color_jacobian(jacobian_pattern(stencil)(point()))
    assert coloring.count == 3
    other = point() * 2 - 1
    np.testing.assert_allclose(sparse_jacobian(stencil, coloring=coloring, chunk_size=2)(other).toarray(),
                               jacrev(stencil)(other).numpy(), rtol=1e-12)


def test_ten_thousand_variables() -> None:
    x = new_tensor(np.random.default_rng(1).normal(size=10_000))
    made = sparse_jacobian(stencil)(x)
    assert made.shape == (9_998, 10_000)
    assert made.nnz == 3 * 9_998
    np.testing.assert_allclose(made.diagonal(2), (x[1:-1] ** 2).numpy())
    made = sparse_hessian(SCALARS["rosenbrock"])(x)
    np.testing.assert_allclose(made.diagonal(1), (-400 * x[:-1]).numpy())


def test_several_inputs_and_outputs_give_blocks() -> None:
    x, y = point()[:3], point()[3:5]

    def function(x: Any, y: Any) -> Any:
        return {"a": x * x, "b": y.sum() * x[:1]}
    made = sparse_jacobian(function, argnums=(0, 1))(x, y)
    dense = jacrev(function, argnums=(0, 1))(x, y)
    for name in ("a", "b"):
        for i in range(2):
            np.testing.assert_allclose(made[name][i].toarray(), dense[name][i].numpy())
    np.testing.assert_allclose(sparse_jacobian(function, argnums=1)(x, y)["b"].toarray(), dense["b"][1].numpy())


def test_arguments_of_any_shape_are_flat_in_the_matrix() -> None:
    x = point().view(4, 5)
    np.testing.assert_allclose(sparse_jacobian(lambda x: x.t() ** 2)(x).toarray(),
                               jacrev(lambda x: x.t() ** 2)(x).numpy().reshape(20, 20))


def test_functional_jacobian_can_be_sparse() -> None:
    x, y = point()[:3], point()[3:6]
    made = jacobian(lambda x, y: x * y, (x, y), sparse=True)
    dense = jacobian(lambda x, y: x * y, (x, y))
    assert isinstance(made, tuple)
    for a, b in zip(made, dense, strict=True):
        np.testing.assert_allclose(a.toarray(), b.numpy())
    made = jacobian(torch.sin, x, sparse=True, strategy="forward-mode")
    np.testing.assert_allclose(made.toarray(), np.diag(np.cos(x.numpy())))
    with pytest.raises(RuntimeError, match="`sparse=True` and `create_graph=True` are not supported together"):
        jacobian(torch.sin, x, create_graph=True, sparse=True)


def test_a_coloring_that_does_not_fit_is_refused() -> None:
    coloring = color_jacobian(jacobian_pattern(stencil)(point()))
    with pytest.raises(RuntimeError, match=r"pattern of shape \(18, 20\), which does not fit: there are 19 elements"):
        sparse_jacobian(stencil, coloring=coloring)(point()[:19])
    with pytest.raises(RuntimeError, match="there are 20 elements of the outputs"):
        sparse_jacobian(torch.sin, coloring=coloring)(point())


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(RuntimeError, match="sparse_jacobian: Expected all inputs to be real"):
        sparse_jacobian(torch.sin)(torch.ones(2, dtype=torch.complex64))


def test_missing_scipy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match="sparse arrays of SciPy, which is not installed. `pip install scipy`"):
        jacobian_pattern(torch.sin)(torch.ones(2))
