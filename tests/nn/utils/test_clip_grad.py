"""Gradients are brought under limits; the norms are those that PyTorch gives."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn import utils


def parameters(*gradients: Any) -> list[Any]:
    made = [nn.Parameter(torch.zeros(len(g))) for g in gradients]
    for p, g in zip(made, gradients, strict=True):
        p.grad = torch.tensor(g)
    return made


@pytest.mark.parametrize(("norm_type", "norm", "first"), [
    (2.0, 13.0, 0.23077), (1, 19.0, 0.15789), (float("inf"), 12.0, 0.25), (0.5, 51.7846, 0.05793), (0, 2.0, 1.5),
])
def test_gradients_are_scaled_to_the_norm(norm_type: float, norm: float, first: float) -> None:
    given = parameters([3.0, 4.0], [12.0])
    assert utils.clip_grad_norm_(given, 1.0, norm_type).item() == pytest.approx(norm, abs=1e-4)
    assert given[0].grad[0].item() == pytest.approx(first, abs=2e-5)


def test_small_gradients_stay() -> None:
    given = parameters([0.3, 0.4])
    assert utils.clip_grad_norm_(iter(given), 1.0).item() == 0.5
    assert torch.equal(given[0].grad, torch.tensor([0.3, 0.4]))


def test_norm_of_nothing_is_zero() -> None:
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0
    assert utils.clip_grad_norm_(nn.Parameter(torch.ones(1)), 1.0).item() == 0.0


def test_norm_that_is_not_finite_can_be_refused() -> None:
    with pytest.raises(RuntimeError, match="The total norm of order 2.0 for gradients from `parameters` is non-finite"):
        utils.clip_grad_norm_(parameters([float("nan")]), 1.0, error_if_nonfinite=True)


def test_old_name_is_warned_of() -> None:
    with pytest.warns(FutureWarning, match="clip_grad_norm` is now deprecated"):
        utils.clip_grad_norm(parameters([3.0, 4.0]), 1.0)


def test_elements_are_brought_between_bounds() -> None:
    given = parameters([3.0, -4.0, 1.0])
    utils.clip_grad_value_(given, 2)
    assert given[0].grad.tolist() == [2.0, -2.0, 1.0]


def test_an_exhausted_generator_of_parameters_is_pointed_out():
    with pytest.warns(UserWarning, match="is an empty generator, no gradient clipping will occur"):
        torch.nn.utils.clip_grad_norm_((p for p in []), 1.0)
    assert torch.nn.utils.clip_grad_norm_(iter([]), 1.0) == 0          # only a generator can have been used up
