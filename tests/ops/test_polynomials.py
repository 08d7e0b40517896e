"""Orthogonal polynomials of small degree: new memory for every result, the same values whatever their neighbours are."""
from __future__ import annotations

import pytest

import retrograd as torch

NAMES = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h",
         "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


@pytest.mark.parametrize("name", NAMES)
def test_result_is_not_the_argument(name: str) -> None:
    function = getattr(torch.special, name)
    x = torch.tensor([[0.25, -0.5], [0.75, 1.5]])
    for n in (0, 1, 2):
        made = function(x, n)
        made.add_(1)
        assert x.tolist() == [[0.25, -0.5], [0.75, 1.5]]
        assert function(0.25, torch.full((2, 2), float(n))).stride() == (2, 1)


@pytest.mark.parametrize("name", NAMES)
def test_value_does_not_depend_on_the_other_degrees(name: str) -> None:
    function = getattr(torch.special, name)
    points = torch.tensor([0.25, -0.5, 0.75, 1.5, 1.0, -1.0, 0.0])
    for degree in range(-1, 9):
        alone = function(points, degree)
        for k, x in enumerate(points.tolist()):
            assert function(torch.tensor([x]), degree).item() == alone[k].item()
            assert function(torch.tensor([x, 0.3]), torch.tensor([float(degree), 40.0]))[0].item() == alone[k].item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_value_does_not_depend_on_the_number_of_elements(name: str, dtype: torch.dtype) -> None:
    function = getattr(torch.special, name)
    special = torch.tensor([1.0, -1.0, 0.0, float("nan"), float("inf"), -float("inf"), 0.5])
    x = torch.cat([special, torch.linspace(-2, 2, 123)]).to(dtype)
    n = (torch.arange(130) % 9 - 1).to(dtype)
    for degrees in (n, n.clamp(max=3), 3, 6, torch.full((130,), float("nan"), dtype=dtype)):
        together = function(x, degrees)
        for i in range(0, 130, 5):
            degree = degrees[i:i + 5] if isinstance(degrees, torch.Tensor) else degrees
            assert torch.equal(function(x[i:i + 5], degree).nan_to_num(7), together[i:i + 5].nan_to_num(7))
    assert torch.equal(function(0.3, n), function(torch.full((130,), 0.3, dtype=dtype), n))
