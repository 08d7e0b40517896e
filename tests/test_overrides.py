"""Subclasses of Tensor and `__torch_function__`: what they see, and what type the results have."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd import overrides
from retrograd.core.state import switches, tls
from retrograd.core.subclass import disabled_torch_function


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path, tls.function_disabled
    yield
    assert (switches.any_mode, tls.slow_path, tls.function_disabled) == before


class Plain(torch.Tensor):
    pass


class Logged(torch.Tensor):
    seen: list[Any] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(func)
        return super().__torch_function__(func, types, args, kwargs)


def logged(run: Any) -> tuple[Any, list[Any]]:
    Logged.seen.clear()
    result = run(torch.ones(2, 2).as_subclass(Logged))
    return result, list(Logged.seen)


@pytest.mark.parametrize("run", [
    lambda x: x + 1, lambda x: 1 + x, lambda x: torch.ones(2) + x, lambda x: x.sin(), torch.sin, lambda x: torch.cat([x, x]),
    lambda x: x[0], lambda x: x.sum(0), lambda x: x.max(0)[0], lambda x: x.chunk(2)[1], lambda x: x.detach(),
    lambda x: x.data, lambda x: -x, lambda x: x > 0, lambda x: x ** 2, lambda x: next(iter(x)), lambda x: x.T,
])
def test_results_have_the_type_of_the_subclass(run: Any) -> None:
    assert type(run(torch.ones(2, 2).as_subclass(Plain))) is Plain


def test_named_tuples_keep_their_type() -> None:
    result = torch.ones(2, 2).as_subclass(Plain).max(0)
    assert type(result).__name__ == "max"
    assert type(result.indices) is Plain


@pytest.mark.parametrize(("run", "function"), [
    (lambda x: x + 1, torch.Tensor.add), (lambda x: x * x, torch.Tensor.mul), (lambda x: x < 2, torch.Tensor.lt),
    (lambda x: x.sin(), torch.Tensor.sin), (torch.sin, torch.sin), (lambda x: torch.ones(2).add(x), torch.Tensor.add),
    (lambda x: x.size(), torch.Tensor.size), (lambda x: x.dim(), torch.Tensor.dim), (len, torch.Tensor.__len__),
    (lambda x: x.shape, torch.Tensor.shape.__get__), (lambda x: x.requires_grad, torch.Tensor.requires_grad.__get__),
])
def test_handler_sees_the_public_function_once(run: Any, function: Any) -> None:
    _, seen = logged(run)
    assert seen == [function]


def test_gradient_is_a_plain_tensor() -> None:
    x = torch.Tensor._make_subclass(Plain, torch.ones(2), True)
    y = x * x
    assert type(y.grad_fn).__name__ == "AliasBackward0"
    y.sum().backward()
    assert type(x.grad) is torch.Tensor
    assert x.grad.tolist() == [2.0, 2.0]


def test_handler_is_not_called_by_the_formulas_of_backward() -> None:
    x = torch.Tensor._make_subclass(Logged, torch.ones(2), True)
    y = (x * x).sum()
    Logged.seen.clear()
    y.backward()
    assert Logged.seen == [torch.Tensor.backward]


def test_class_that_switches_the_protocol_off_is_an_ordinary_tensor() -> None:
    class Quiet(torch.Tensor):
        __torch_function__ = disabled_torch_function

    x = torch.ones(2).as_subclass(Quiet)
    assert x._flags == 0
    assert type(x + 1) is torch.Tensor


def test_constructors_and_attributes_of_the_user_work() -> None:
    class Own(torch.Tensor):
        def __new__(cls, data: Any, extra: int) -> Any:
            return torch.Tensor._make_subclass(cls, data)

        def __init__(self, data: Any, extra: int) -> None:
            super().__init__()
            self.extra = extra

    x = Own(torch.ones(2), 5)
    assert (x.extra, x.tolist()) == (5, [1.0, 1.0])
    assert copy.copy(x).extra == 5
    assert repr(Plain([1.0, 2.0])) == "Plain([1., 2.])"


def test_pickle_keeps_the_class() -> None:
    x = pickle.loads(pickle.dumps(Plain([1.0, 2.0])))
    assert type(x) is Plain
    assert type(x + 1) is Plain


def test_all_not_implemented_is_a_type_error() -> None:
    class Refuses(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    x = torch.ones(1).as_subclass(Refuses)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.sin'; all __torch_function__ handlers"):
        torch.sin(x)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Refuses' and 'int'"):
        x + 1


def test_objects_that_are_no_tensors_take_part() -> None:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func.__name__

    assert torch.sin(Duck()) == "sin"
    assert torch.add(torch.ones(1), Duck()) == "add"
    assert torch.ones(1) + Duck() == "add"
    assert overrides.is_tensor_like(Duck())
    assert overrides.has_torch_function([Duck()])


def test_disabling_scope() -> None:
    x = torch.ones(2).as_subclass(Logged)
    Logged.seen.clear()
    with overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor
        assert type(x.sin()) is torch.Tensor
    assert Logged.seen == []


def test_mode_sees_functions_and_operators_of_plain_tensors() -> None:
    seen: list[str] = []

    class Log(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Log():
        y = (torch.ones(2) + x).sin().sum()
        y.backward()
    assert seen[:4] == ["ones", "add", "sin", "sum"]
    assert "cos" not in seen


def test_redispatch_skips_one_handler_and_shows_what_the_function_calls():
    seen = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return torch.overrides.redispatch_function(func, types, args, kwargs)

    class SeeingMode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with self:
                return torch.overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x, y = torch.tensor([3.0]), torch.tensor([4.0])
    made = scaled(x.as_subclass(Seeing), y.as_subclass(Seeing))
    assert seen == ["scaled", "mul"] and type(made) is torch.Tensor and made.tolist() == [13]
    seen.clear()
    with SeeingMode():
        assert scaled(x, y).equal(made) is True
    assert seen == ["scaled", "mul", "add", "equal"]


def test_methods_that_ignore_overrides_are_listed():
    ignored = torch.overrides.get_ignored_functions()
    assert torch.Tensor.as_subclass in ignored and torch.Tensor.new_zeros in ignored and torch.Tensor.add not in ignored


class Asked:
    """An operand that answers with the name of the function it was asked about."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func.__name__


def test_comparisons_with_an_overriding_operand_are_dispatched_to_it() -> None:
    t = torch.ones(2)
    assert (t == Asked(), t != Asked(), t < Asked(), t >= Asked()) == ("eq", "ne", "lt", "ge")


def test_an_overriding_index_sees_item_assignment() -> None:
    seen: list[str] = []

    class Index:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)

    torch.ones(2)[Index()] = 1
    assert seen == ["__setitem__"]
