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
