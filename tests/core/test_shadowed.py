"""A subclass may use the names of Tensor's own fields for something else."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch


class Tracked(torch.Tensor):
    """A subclass with a property `array`, whose setter writes into the tensor."""

    @property
    def array(self) -> str:
        return f"values of {tuple(self.shape)}"

    @array.setter
    def array(self, values: Any) -> None:
        self.copy_(torch.as_tensor(values))


class Named:
    array = "a class attribute"


class Mixed(Named, torch.Tensor):
    """A subclass whose other parent has the name."""


def test_property_of_a_subclass_is_what_programs_see() -> None:
    x = torch.arange(3.0).as_subclass(Tracked)
    assert x.array == "values of (3,)"
    x.array = [4.0, 5.0, 6.0]
    assert x.tolist() == [4.0, 5.0, 6.0]


def test_ops_and_gradients_of_such_a_subclass_work() -> None:
    x = torch.arange(3.0).as_subclass(Tracked).requires_grad_()
    y = (x * 2).exp()[1:].sum()
    assert isinstance(y, Tracked)
    y.backward()
    expected = 2 * (2 * torch.arange(3.0)).exp() * torch.tensor([0.0, 1.0, 1.0])
    torch.testing.assert_close(x.grad.as_subclass(torch.Tensor), expected)


def test_name_of_another_parent_is_kept_and_can_be_set() -> None:
    x = torch.ones(2).as_subclass(Mixed)
    assert x.array == "a class attribute"
    x.array = 5
    assert x.array == 5 and torch.ones(1).as_subclass(Mixed).array == "a class attribute"
    assert (x + 1).tolist() == [2.0, 2.0]


def test_subclass_of_such_a_subclass_inherits_it() -> None:
    class Further(Tracked):
        pass
    x = torch.ones(2).as_subclass(Further)
    assert x.array == "values of (2,)" and (x + x).sum().item() == 4.0


def test_attributes_of_a_subclass_can_be_replaced_at_once() -> None:
    x = torch.ones(2).as_subclass(Further)
    x.meta = 1
    x.__dict__ = {"other": 2}
    assert x.__dict__ == {"other": 2} and x.other == 2 and not hasattr(x, "meta")
    assert (x + 1).tolist() == [2.0, 2.0]


def test_attributes_of_a_tensor_can_be_replaced_at_once_and_shared() -> None:
    x, y = torch.ones(2), torch.nn.Parameter(torch.zeros(2))
    x.meta = 1
    y.__dict__ = x.__dict__
    y.other = 2
    assert x.other == 2 and x.__dict__ is y.__dict__
    x.__dict__ = {}
    assert not hasattr(x, "meta") and y.meta == 1 and (x + y).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="__dict__ must be set to a dictionary, not a 'int'"):
        x.__dict__ = 3  # type: ignore[assignment]


class Further(Tracked):
    """A subclass of a subclass."""
