"""Operators declared the older way."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.library import older


@pytest.fixture
def op():
    @older.custom_op("test_older::double")
    def double(x: torch.Tensor) -> torch.Tensor:
        ...
    older.impl("test_older::double")(lambda x: x.detach() * 2)
    yield torch.ops.test_older.double
    older._destroy("test_older::double")


def test_kernel_runs_and_gradients_are_refused(op) -> None:
    assert op(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Autograd has not been implemented for operator"):
        op(torch.ones(2, requires_grad=True))


def test_gradients_are_given_by_name(op) -> None:
    older.impl_save_for_backward("test_older::double")(lambda inputs, output: {"x": inputs.x})
    older.impl_backward("test_older::double")(lambda ctx, saved, grad: {"x": grad * 2 * saved["x"].detach()})
    x = torch.full((2,), 3.0, requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_gradients_that_are_no_dict_are_refused(op) -> None:
    older.impl_save_for_backward("test_older::double")(lambda inputs, output: None)
    older.impl_backward("test_older::double")(lambda ctx, saved, grad: grad)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="to be a dict"):
        op(x).sum().backward()


def test_shapes_come_from_the_abstract_function(op) -> None:
    older.impl_abstract("test_older::double")(lambda x: torch.empty_like(x))
    assert op(torch.ones(2, device="meta")).shape == (2,)


def test_wrong_names_and_second_registrations_are_refused(op) -> None:
    with pytest.raises(RuntimeError, match="already has a cpu impl"):
        older.impl("test_older::double", device_types="cpu")(lambda x: x)
    with pytest.raises(ValueError, match="Could not find the operator test_older::other"):
        older.impl("test_older::other")(lambda x: x)
    with pytest.raises(ValueError, match="'aten' is a reserved namespace"):
        older.custom_op("aten::foo")
    with pytest.raises(ValueError, match="Expected there to be a namespace"):
        older.custom_op("foo")
    with pytest.raises(ValueError, match="expected `func` to have name 'b' but got 'a'"):
        @older.custom_op("test_older::b")
        def a(x: torch.Tensor) -> torch.Tensor:
            ...
