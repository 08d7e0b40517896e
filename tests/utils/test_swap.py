"""Exchanging tensors in place, and modules that convert and load by it."""
from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn


@pytest.fixture
def swapping() -> Iterator[None]:
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_everything_of_two_tensors_changes_places() -> None:
    a, b = nn.Parameter(torch.ones(2)), torch.zeros(3)
    a.mine, b.other = 1, 2      # type: ignore[attr-defined]
    a.grad = torch.full((2,), 5.0)
    torch.utils.swap_tensors(a, b)
    assert type(a) is torch.Tensor and a.tolist() == [0, 0, 0] and a.other == 2 and not hasattr(a, "mine")
    assert type(b) is nn.Parameter and b.requires_grad and b.mine == 1 and b.grad.tolist() == [5, 5]


def test_history_goes_with_the_contents() -> None:
    leaf = torch.ones(2, requires_grad=True)
    product, other = leaf * 3, torch.zeros(2)
    torch.utils.swap_tensors(product, other)
    assert product.is_leaf and other.grad_fn is not None
    other.sum().backward()
    assert leaf.grad.tolist() == [3, 3]


def test_gradients_of_an_older_graph_go_where_the_leaf_has_gone() -> None:
    a, b = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    loss = (a * 2).sum()
    torch.utils.swap_tensors(a, b)
    loss.backward()
    assert a.grad is None and b.grad.tolist() == [2]


def test_weak_references_and_slots_forbid_it() -> None:
    class Slotted(torch.Tensor):
        __slots__ = ("z",)
    a = torch.ones(1)
    watcher = weakref.ref(a)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref associated with it"):
        torch.utils.swap_tensors(a, torch.ones(1))
    assert watcher() is a
    with pytest.raises(RuntimeError, match="Cannot swap t1 and t2 if they have different slots"):
        torch.utils.swap_tensors(torch.ones(1).as_subclass(Slotted), torch.ones(1))


def test_conversions_keep_parameters_and_gradients_as_objects(swapping: None) -> None:
    layer = nn.Linear(2, 2)
    layer(torch.ones(2)).sum().backward()
    weight, grad = layer.weight, layer.weight.grad
    layer.double()
    assert layer.weight is weight and weight.dtype is torch.float64 and type(weight) is nn.Parameter
    assert weight.grad is grad and grad.dtype is torch.float64


def test_conversions_without_swapping_keep_the_gradient_object() -> None:
    layer = nn.Linear(2, 2)
    layer(torch.ones(2)).sum().backward()
    grad = layer.weight.grad
    assert layer.double().weight.grad is grad and grad.dtype is torch.float64


def test_overwriting_puts_new_parameters_in_place() -> None:
    layer = nn.Linear(2, 2)
    weight = layer.weight
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        layer.double()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    assert layer.weight is not weight and weight.dtype is torch.float32


@pytest.mark.parametrize("assign", [False, True])
def test_loading_goes_by_module_load(swapping: None, assign: bool) -> None:
    layer = nn.Linear(2, 1, bias=False)
    weight, value = layer.weight, torch.full((1, 2), 3.0, dtype=torch.float64)
    layer.load_state_dict({"weight": value}, assign=assign)
    assert layer.weight is weight and weight.tolist() == [[3, 3]] and weight.requires_grad
    assert weight.dtype is (torch.float64 if assign else torch.float32)


def test_module_load_must_make_a_new_tensor(swapping: None) -> None:
    class Lazy(torch.Tensor):
        def module_load(self, other: Any, assign: bool = False) -> Any:
            return other
    module = nn.Module()
    module.register_buffer("b", torch.ones(1).as_subclass(Lazy))
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        module.load_state_dict({"b": torch.ones(1)})
