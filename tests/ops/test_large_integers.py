"""Integers that count steps: large ones end at once, with PyTorch's values or a clear error."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch

CHEBYSHEV = [prefix + f"chebyshev_polynomial_{kind}" for kind in "tuvw" for prefix in ("", "shifted_")]


@pytest.mark.parametrize("name", [*CHEBYSHEV, "hermite_polynomial_h", "hermite_polynomial_he"])
@pytest.mark.parametrize("degree", [10**9, 2**62, 2.0**40, float("inf")])
def test_polynomials_of_large_degree_end(name: str, degree: Any) -> None:
    x = torch.tensor([0.3, 1.5, -2.0])
    assert getattr(torch.special, name)(x, degree).isnan().tolist()[1:] == [True, True]


@pytest.mark.parametrize("name", ["laguerre_polynomial_l", "legendre_polynomial_p"])
def test_recurrences_of_too_many_steps_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrograd.ops.elementwise.special.MOST_STEPS", 1000)
    with pytest.raises(ValueError, match="takes too many steps"):
        getattr(torch.special, name)(torch.tensor([0.3]), 10**9)


def test_chebyshev_polynomials_follow_the_angle() -> None:
    x, n = torch.tensor([0.3, -0.7, 0.999], dtype=torch.float64), 1000
    angle = x.arccos()
    for kind, expected in (("t", (n * angle).cos()), ("u", ((n + 1) * angle).sin() / angle.sin())):
        torch.testing.assert_close(getattr(torch.special, f"chebyshev_polynomial_{kind}")(x, n), expected)
        torch.testing.assert_close(getattr(torch.special, f"shifted_chebyshev_polynomial_{kind}")((x + 1) / 2, n), expected)


def test_polynomials_at_the_ends() -> None:
    ends = torch.tensor([1.0, -1.0])
    values = {name: getattr(torch.special, f"chebyshev_polynomial_{name}")(ends, 9).tolist() for name in "tuvw"}
    assert values == {"t": [1, -1], "u": [10, -10], "v": [1, -19], "w": [19, -1]}


@pytest.mark.parametrize("function", [torch.svd_lowrank, torch.pca_lowrank])
def test_endless_iterations_are_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="niter"):
        function(torch.rand(6, 4), 2, niter=2**70)
