"""A Parameter takes part in ops as the tensor that it is, on either side and in place."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn

OPS: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda a, b: a * b, "function": torch.mul, "method": lambda a, b: a.mul(b), "quotient": torch.div,
    "power": torch.pow, "greater": torch.maximum, "product": lambda a, b: a.view(1, 3) @ b.view(3, 1),
}


@pytest.mark.parametrize("side", ["left", "right", "both"])
@pytest.mark.parametrize("name", OPS)
def test_a_parameter_that_was_updated_is_saved_at_its_new_version(name: str, side: str) -> None:
    def gradient(w: Any) -> Any:
        other = torch.tensor([1.0, 2.0, 3.0])
        OPS[name](other if side == "right" else w, other if side == "left" else w).sum().backward()
        return w.grad

    def updated(w: Any) -> Any:
        with torch.no_grad():
            w.add_(1)
        return w

    plain = updated(torch.ones(3).requires_grad_())
    assert torch.equal(gradient(updated(nn.Parameter(torch.ones(3)))), gradient(plain))


@pytest.mark.parametrize("name", OPS)
def test_a_write_to_a_parameter_between_forward_and_backward_is_noticed(name: str) -> None:
    w = nn.Parameter(torch.ones(3))
    loss = OPS[name](torch.ones(3, requires_grad=True), w).sum()
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        loss.backward()


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(("name", "expected"), [("add_", 1.0), ("sub_", -1.0), ("mul_", 3.0), ("div_", -0.75)])
def test_what_is_written_into_a_tensor_from_a_parameter_has_its_gradient(name: str, expected: float, recorded: bool) -> None:
    w = nn.Parameter(torch.full((3,), 2.0))
    y = torch.full((3,), 3.0)
    if recorded:
        y = y.requires_grad_() * 1
    getattr(y, name)(w)
    y.sum().backward()
    assert w.grad.tolist() == [expected] * 3


def test_a_dictionary_takes_in_the_parameters_of_a_parameter_dict() -> None:
    joined = {"q": 1} | torch.nn.ParameterDict({"a": torch.ones(1)})
    assert list(joined) == ["q", "a"] and isinstance(joined["a"], torch.nn.Parameter)
