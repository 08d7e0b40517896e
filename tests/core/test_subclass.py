"""Subclasses of Tensor: how instances are made, who is asked about a function, and what the scopes switch off."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.core import subclass
from retrograd.core.state import switches, tls
from retrograd.core.subclass import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    disabled_torch_function,
)
from retrograd.core.tensor import FLAG_SUBCLASS


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path, tls.run_flags, tls.function_disabled
    yield
    assert (switches.any_mode, tls.slow_path, tls.run_flags, tls.function_disabled) == before
    assert tls.function_modes == []


class Named(torch.Tensor):
    """Notes which functions it is asked about."""

    seen: list[str] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Named.seen.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


class Child(Named):
    pass


class Off(torch.Tensor):
    __torch_function__ = disabled_torch_function


# ---- making instances
def test_as_subclass_shares_memory_and_history() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    made = y.as_subclass(Named)
    assert type(made) is Named and made.data_ptr() == y.data_ptr()
    made.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_as_subclass_wants_a_subclass() -> None:
    for wrong in (int, object, 3):
        with pytest.raises((RuntimeError, TypeError)):
            torch.ones(1).as_subclass(wrong)


def test_make_subclass_leaves_the_history_behind() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    made = torch.Tensor._make_subclass(Named, x * 2, True)
    assert type(made) is Named and made.is_leaf and made.requires_grad
    assert not torch.Tensor._make_subclass(Named, x * 2).requires_grad
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.Tensor._make_subclass(Named, torch.ones(1, dtype=torch.int64), True)
    with pytest.raises(TypeError):
        torch.Tensor._make_subclass(Named, [1.0])


def test_a_wrapper_needs_a_handler() -> None:
    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Named, (2,))


def test_a_class_without_constructor_takes_data_or_sizes() -> None:
    data = torch.ones(2)
    assert type(Named(data)) is Named and Named(data).tolist() == [1.0, 1.0]
    assert Named(2, 3).shape == (2, 3)
    assert Named([1.0, 2.0]).tolist() == [1.0, 2.0]


# ---- who takes part
def test_who_overrides_functions() -> None:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "duck"

    assert subclass.overrides_function(Named) and subclass.overrides_function(Duck)
    assert not subclass.overrides_function(torch.Tensor) and not subclass.overrides_function(Off)
    assert not subclass.overrides_function(int)
    assert torch.add(torch.ones(1), Duck()) == "duck"


def test_a_class_that_is_off_is_as_quick_as_a_tensor() -> None:
    made = torch.ones(2).as_subclass(Off)
    assert not made._flags & FLAG_SUBCLASS
    assert type(made + 1) is torch.Tensor
    assert torch.ones(2).as_subclass(Named)._flags & FLAG_SUBCLASS


def test_one_of_each_class_is_asked_the_most_derived_first() -> None:
    a, b = torch.ones(1).as_subclass(Named), torch.ones(1).as_subclass(Child)
    asked = subclass.overriding_arguments((a, b, a, torch.ones(1)), {"other": [b]})
    assert [type(t) for t in asked] == [Child, Named]
    assert type(a + b) is Child and type(b + a) is Child


def test_unrelated_classes_refuse_each_other() -> None:
    class Stranger(torch.Tensor):
        pass

    with pytest.raises(TypeError, match="NotImplemented|unsupported operand"):
        torch.add(torch.ones(1).as_subclass(Named), torch.ones(1).as_subclass(Stranger))


# ---- what is seen
def test_properties_and_plain_methods_are_seen() -> None:
    x = torch.ones(2, 2).as_subclass(Named)
    Named.seen.clear()
    for read in (lambda: x.shape, lambda: x.T, lambda: x.grad, lambda: x.dim(), lambda: x.requires_grad_()):
        read()
    assert len(Named.seen) == 5
    Named.seen.clear()
    x.requires_grad = False
    assert Named.seen == ["__set__"]


def test_results_in_containers_are_converted() -> None:
    x = torch.ones(4).as_subclass(Named)
    assert all([type(t) is Named for t in x.split(2)])
    made = subclass.converted({"a": torch.ones(1)}, Named)
    assert type(made["a"]) is torch.Tensor
    assert type(subclass.converted([torch.ones(1), 3], Named)[0]) is Named
    assert subclass.converted(5, Named) == 5


def test_base_and_grad_are_not_converted() -> None:
    x = torch.ones(2).as_subclass(Named).requires_grad_()
    (x * 2).sum().backward()
    assert type(x.grad) is torch.Tensor


# ---- scopes
def test_scopes_switch_off_subclasses_or_everything() -> None:
    seen: list[str] = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2).as_subclass(Named)
    Named.seen.clear()
    with Mode():
        with DisableTorchFunctionSubclass():
            assert type(torch.sin(x)) is torch.Tensor
        with DisableTorchFunction():
            assert type(torch.sin(x)) is torch.Tensor
            with DisableTorchFunctionSubclass():       # does not switch modes on again
                torch.sin(x)
    assert seen == ["sin"] and Named.seen == []


def test_function_modes_are_asked_from_the_inside_out_before_subclasses() -> None:
    order: list[str] = []

    class Mode(TorchFunctionMode):
        def __init__(self, name: str) -> None:
            self.name = name

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2).as_subclass(Named)
    Named.seen.clear()
    with Mode("outer"), Mode("inner"):
        torch.sin(x)
    assert order == ["inner", "outer"] and Named.seen == ["sin"]


class Silent(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


def test_a_mode_that_says_nothing_leaves_it_to_the_subclass() -> None:
    class Answer(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "mine"

    x = torch.ones(2).as_subclass(Answer)
    with Silent():
        assert torch.sin(x) == "mine"


def test_a_mode_that_declines_with_no_other_handler_is_an_error() -> None:
    x, plain = torch.ones(2).as_subclass(Named), torch.ones(2)
    for t in (x, plain):                  # the class asks the mode again
        with Silent(), pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.sin'; all __torch_function__ "
                                                      "handlers returned NotImplemented:\n\n  - mode object <"):
            torch.sin(t)


def test_names_of_functions_in_errors() -> None:
    assert subclass.resolve_name(torch.Tensor.sin) == "torch.Tensor.sin"
    assert subclass.resolve_name(torch.sin) == "torch.sin"


# ---- autograd
def test_backward_of_an_instance() -> None:
    x = torch.ones(2).as_subclass(Named).requires_grad_()
    y = x * 3
    assert type(y) is Named and y.grad_fn.name() in ("AliasBackward0", "MulBackward0")
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_parameters_take_no_part() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    assert not p._flags & FLAG_SUBCLASS
    assert type(p * 2) is torch.Tensor and p.is_leaf
