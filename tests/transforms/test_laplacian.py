"""`laplacian`: against the trace of the Hessian, over the ops that have rules of their own and the others."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import nn
from retrograd.core.tensor import new_tensor
from retrograd.func import grad, hessian, laplacian, vmap

functional = nn.functional
DOUBLE = torch.float64


def written(x: Any) -> Any:
    y = x.clone()
    y[0].mul_(x[1])
    y.t().add_(x * x)
    return y


FUNCTIONS = {
    "exp": torch.exp, "tanh": torch.tanh, "quotient": lambda x: x / (1 + x * x), "power": lambda x: x ** 2.5,
    "matmul": lambda x: x @ x, "linear": lambda x: functional.linear(x, x, x[0]), "softmax": lambda x: x.softmax(0),
    "inverse": torch.linalg.inv, "determinant": torch.det, "variance": lambda x: x.var(0), "product": lambda x: x.prod(1),
    "norm": lambda x: x.norm(), "max": lambda x: x.max(0).values ** 2, "cat": lambda x: torch.cat([x, x.sin()]),
    "where": lambda x: torch.where(x > 0.5, x.sin(), x ** 3), "einsum": lambda x: torch.einsum("ij,jk,kl->il", x, x, x),
    "layer_norm": lambda x: functional.layer_norm(x, (3,)), "gelu": functional.gelu, "transposed": lambda x: (x * x).t() @ x,
    "eigenvalues": lambda x: torch.linalg.eigvalsh(x + x.t()), "arctangent": lambda x: torch.atan2(x, x * x + 1),
    "broadcast": lambda x: x[0] * x.sum(1, keepdim=True) ** 2, "written": written, "constant": lambda x: torch.ones(2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_laplacian_is_the_trace_of_the_hessian(name: str) -> None:
    function = FUNCTIONS[name]
    x = new_tensor(np.random.default_rng(0).uniform(0.3, 1.0, (3, 3)))
    got = laplacian(function)(x)
    want = hessian(function)(x).reshape((*got.shape, 9, 9)).diagonal(0, -2, -1).sum(-1)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-9, atol=1e-9)


def network() -> Any:
    random = np.random.default_rng(1)
    weights = [new_tensor(random.normal(size=shape)) for shape in ((16, 5), (16, 16), (1, 16))]

    def mlp(x: Any) -> Any:
        for weight in weights[:-1]:
            x = functional.linear(x, weight).tanh()
        return functional.linear(x, weights[-1])[0]
    return mlp


def test_network_in_a_batch_and_differentiated() -> None:
    mlp = network()
    points = new_tensor(np.random.default_rng(2).normal(size=(4, 5)))
    want = vmap(lambda x: hessian(mlp)(x).trace())(points)
    np.testing.assert_allclose(vmap(laplacian(mlp))(points).numpy(), want.numpy(), rtol=1e-9)
    np.testing.assert_allclose(grad(laplacian(mlp))(points[0]).numpy(),
                               grad(lambda x: hessian(mlp)(x).trace())(points[0]).numpy(), rtol=1e-9)


def test_sum_is_over_all_chosen_arguments() -> None:
    x, y = torch.tensor([1.0, 2.0], dtype=DOUBLE), torch.tensor(3.0, dtype=DOUBLE)

    def function(x: Any, y: Any) -> Any:
        return (x ** 3).sum() * y ** 2
    assert laplacian(function)(x, y).item() == 18.0 * 9.0
    assert laplacian(function, argnums=1)(x, y).item() == 18.0
    assert laplacian(function, argnums=(0, 1))(x, y).item() == 180.0


def test_custom_function_goes_by_its_jvp() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x ** 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * tangent
    x = torch.tensor([1.0, 2.0], dtype=DOUBLE)
    assert laplacian(lambda x: Cube.apply(x * x).sum())(x).item() == 30.0 * (1 + 16)


def test_wrong_calls_say_what_is_expected() -> None:
    with pytest.raises(RuntimeError, match="to only contain Tensors, got <class 'float'>"):
        laplacian(torch.sin)(1.0)
    with pytest.raises(RuntimeError, match="return only tensors, got unsupported type <class 'int'>"):
        laplacian(lambda x: 3)(torch.ones(2))
