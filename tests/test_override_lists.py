"""The list of functions that take part in `__torch_function__`, and their stand-ins."""
from __future__ import annotations

import inspect

import pytest

import retrograd as torch
from retrograd import overrides

STAND_INS = overrides.get_testing_overrides()


class Like:
    """No tensor, but takes part."""

    calls: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func)
        return STAND_INS[func](*args, **(kwargs or {}))


@pytest.mark.parametrize("function", [
    torch.sin, torch.add, torch.matmul, torch.linalg.inv, torch.fft.rfft, torch.special.erf, torch.nn.functional.linear,
    torch.nn.functional.cross_entropy, torch.atleast_1d,
])
def test_function_is_called_with_as_many_arguments_as_its_stand_in_needs(function) -> None:
    spec = inspect.getfullargspec(STAND_INS[function])
    count = len(spec.args) - len(spec.defaults or ())
    Like.calls.clear()
    assert function(*[Like() for _ in range(count + 2 * bool(spec.varargs))]) == -1
    assert Like.calls == [function]


def test_stand_ins_name_the_parameters() -> None:
    assert inspect.getfullargspec(STAND_INS[torch.add]).args[:2] == ["input", "other"]
    assert inspect.getfullargspec(STAND_INS[torch.Tensor.grad.__get__]).args == ["self"]


def test_methods_operators_and_attributes_are_in_the_list() -> None:
    listed = overrides.get_overridable_functions()
    assert torch.Tensor.add in listed[torch.Tensor] and torch.Tensor.__add__ in listed[torch.Tensor]
    assert torch.Tensor.size in listed[torch.Tensor] and torch.Tensor.grad in listed
    assert torch.zeros not in listed[torch] and torch.nn.functional.gelu in listed[torch.nn.functional]
    assert torch.Tensor.requires_grad.__qualname__ == "TensorBase.requires_grad"


def test_function_modes_are_pushed_and_popped() -> None:
    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "seen"
    mode = Mode()
    overrides._push_mode(mode)
    try:
        assert torch.sin(1) == "seen" and overrides._len_torch_function_stack() == 1
        with overrides._pop_mode_temporarily() as popped:
            assert popped is mode and overrides._len_torch_function_stack() == 0
    finally:
        assert overrides._pop_mode() is mode
    assert not overrides.has_torch_function_unary(torch.ones(1)) and overrides.has_torch_function_variadic(1, Like())
