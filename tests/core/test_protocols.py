"""Tensors in Python's own protocols: numbers, containers, operators with a number on the left."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch


@pytest.mark.parametrize(("function", "expected"), [(int, 3), (float, 3.0), (complex, 3 + 0j), (bool, True),
                                                    (operator.index, 3)])
def test_tensor_of_one_element_is_a_number(function: Callable[[Any], Any], expected: Any) -> None:
    made = function(torch.tensor(3))
    assert made == expected and type(made) is type(expected)


@pytest.mark.parametrize("function", [int, float, complex, bool])
def test_tensor_of_several_elements_is_no_number(function: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError if function is bool else ValueError):
        function(torch.ones(2))


def test_floating_point_tensor_is_no_index() -> None:
    with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
        operator.index(torch.tensor(3.0))
    assert [10, 20, 30][torch.tensor(1)] == 20


def test_iteration_gives_the_rows() -> None:
    assert [row.tolist() for row in torch.arange(4).reshape(2, 2)] == [[0, 1], [2, 3]]


def test_iteration_over_a_number_is_refused() -> None:
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(torch.tensor(3))


def test_iteration_is_recorded_as_one_node() -> None:
    first, second = torch.ones(2, requires_grad=True)
    assert first.grad_fn is second.grad_fn


def test_membership_compares_values() -> None:
    x = torch.arange(3)
    assert 2 in x and 5 not in x and torch.tensor(1) in x
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "2" in x    # noqa: B015


def test_length_is_that_of_the_first_dimension() -> None:
    assert len(torch.ones(2, 3)) == 2
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(torch.tensor(3))


@pytest.mark.parametrize("operation", [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.and_,
    operator.or_, operator.xor, operator.lshift, operator.rshift, operator.eq, operator.ne, operator.lt, operator.le,
    operator.gt, operator.ge,
])
def test_operator_takes_a_number_on_either_side(operation: Callable[[Any, Any], Any]) -> None:
    x = torch.tensor([1, 2, 4])
    assert operation(x, 2).tolist() == [operation(n, 2) for n in (1, 2, 4)]
    assert operation(5, x).tolist() == [operation(5, n) for n in (1, 2, 4)]


@pytest.mark.parametrize("operation", [operator.neg, operator.pos, operator.abs, operator.invert])
def test_unary_operator(operation: Callable[[Any], Any]) -> None:
    assert operation(torch.tensor([1, -2])).tolist() == [operation(1), operation(-2)]


@pytest.mark.parametrize("operation", [
    operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.imod, operator.ipow, operator.iand,
    operator.ior, operator.ixor, operator.ilshift, operator.irshift,
])
def test_augmented_operator_writes_in_place(operation: Callable[[Any, Any], Any]) -> None:
    x = torch.tensor([5, 6])
    made = operation(x, 2)
    assert made is x and x.tolist() == [operation(5, 2), operation(6, 2)]
