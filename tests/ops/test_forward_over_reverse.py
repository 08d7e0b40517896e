"""Forward mode over reverse mode: the tangents of gradients, against differences of gradients."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.nn import functional as F

FUNCTIONS = {
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "tanhshrink": F.tanhshrink, "sgn": torch.sgn, "abs": torch.abs,
    "angle": torch.angle, "reciprocal": torch.reciprocal, "sqrt": torch.sqrt, "log": torch.log, "acos": torch.acos,
    "power": lambda z: z ** 2.5, "silu": F.silu, "prod": lambda z: z.prod(0), "var": lambda z: z.var(0),
    "norm": lambda z: torch.linalg.vector_norm(z, 3, 0), "logsumexp": lambda z: z.logsumexp(0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangent_of_a_complex_gradient(name: str) -> None:
    torch.manual_seed(0)
    function, (z, direction) = FUNCTIONS[name], torch.randn(2, 3, 3, dtype=torch.complex128)
    weights = torch.randn_like(function(z))

    def gradient(z: Any) -> Any:
        return torch.func.vjp(function, z)[1](weights)[0]
    step = 1e-6
    expected = (gradient(z + step * direction) - gradient(z - step * direction)) / (2 * step)
    torch.testing.assert_close(torch.func.jvp(gradient, (z,), (direction,))[1], expected, rtol=1e-4, atol=1e-6)


def test_singular_vectors_beyond_the_singular_values_are_constant() -> None:
    torch.manual_seed(0)
    a, direction = torch.randn(2, 3, 5, dtype=torch.float64)
    whole = torch.func.jvp(lambda a: torch.linalg.svd(a, full_matrices=True), (a,), (direction,))[1]
    part = torch.func.jvp(lambda a: torch.linalg.svd(a, full_matrices=False), (a,), (direction,))[1]
    torch.testing.assert_close(whole[2][:3], part[2])
    assert whole[2][3:].abs().max() == 0 and whole[0].shape == (3, 3)


def test_tangent_of_a_layer_norm_with_a_bias_alone() -> None:
    torch.manual_seed(0)
    x, bias = torch.randn(2, 2, 3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)

    def gradients(x: Any, bias: Any) -> Any:
        made, pull = torch.func.vjp(lambda x, b: F.layer_norm(x, (2, 3), None, b).pow(2), x, bias)
        return pull(torch.ones_like(made))
    step = 1e-6
    expected = [(a - b) / (2 * step) for a, b in zip(gradients(x + step * x, bias + step * bias),
                                                    gradients(x - step * x, bias - step * bias), strict=True)]
    actual = torch.func.jvp(gradients, (x, bias), (x, bias))[1]
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, rtol=1e-4, atol=1e-6)
