"""Scans by an associative function agree with loops, in values and in gradients."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd._higher_order_ops.associative_scan import associative_scan


@pytest.mark.parametrize("length", range(1, 12))
@pytest.mark.parametrize("mode", ["pointwise", "generic"])
def test_scan_of_sums_is_cumsum(length: int, mode: str) -> None:
    x = torch.arange(2.0 * length).reshape(2, length)
    assert torch.equal(associative_scan(lambda a, b: a + b, x, 1, combine_mode=mode), x.cumsum(1))
    back = associative_scan(lambda a, b: a + b, x, 1, reverse=True, combine_mode=mode)
    assert torch.equal(back, x.flip(1).cumsum(1).flip(1))


@pytest.mark.parametrize("mode", ["pointwise", "generic"])
def test_linear_recurrence_over_a_tree_and_its_gradient(mode: str) -> None:
    torch.manual_seed(0)
    a, b = torch.rand(7, 3, dtype=torch.float64, requires_grad=True), torch.randn(7, 3, dtype=torch.float64, requires_grad=True)

    def combine(left: Any, right: Any) -> Any:
        return {"a": left["a"] * right["a"], "b": right["a"] * left["b"] + right["b"]}

    made = associative_scan(combine, {"a": a, "b": b}, 0, combine_mode=mode)["b"]
    states = [b[0]]
    for i in range(1, 7):
        states.append(a[i] * states[-1] + b[i])
    wanted = torch.stack(states)
    torch.testing.assert_close(made, wanted)
    weights = torch.randn(7, 3, dtype=torch.float64)
    torch.testing.assert_close(torch.autograd.grad(made, (a, b), weights), torch.autograd.grad(wanted, (a, b), weights))


@pytest.mark.parametrize(("xs", "dim", "mode", "text"), [
    (torch.zeros(0), 0, "pointwise", "scan dimension > 0"),
    ((torch.zeros(2), torch.zeros(3)), 0, "pointwise", "must have the same length"),
    (torch.zeros(2), 0, "other", "Combine_mode must either 'pointwise' or 'generic'"),
    ([1, 2], 0, "pointwise", "leaves to be tensors"),
])
def test_wrong_arguments_are_refused(xs: Any, dim: int, mode: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        associative_scan(lambda a, b: a, xs, dim, combine_mode=mode)
