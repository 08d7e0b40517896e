"""Functional ops of a graph become in-place ones where nothing reads the old value any more."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.func import functionalize
from retrograd.fx import symbolic_trace
from retrograd.fx.experimental.proxy_tensor import make_fx
from retrograd.fx.passes.reinplace import reinplace


def ops_of(function: Callable[[Any], Any], x: Any) -> list[str]:
    """The ops of the functionalized function after the pass; its results are checked on the way."""
    graph = reinplace(make_fx(functionalize(function, remove="mutations"))(x.clone()), x.clone())
    expected, found = function(x.clone()), graph(x.clone())
    torch.testing.assert_close(found, expected)
    return [str(node.target).removeprefix("aten.") for node in graph.graph.nodes if node.op == "call_function"]


def test_a_value_that_is_not_read_again_is_written_in_place():
    assert ops_of(lambda x: (x + 1) * 2, torch.ones(3)) == ["add.Tensor", "mul_.Tensor"]


def test_inputs_and_values_that_are_read_again_are_kept():
    assert ops_of(lambda x: x.add_(1) * 2, torch.ones(3)) == ["add.Tensor", "mul.Tensor", "copy_.default"]

    def read_twice(x: Any) -> Any:
        y = x + 1
        return y * 2, y

    assert ops_of(read_twice, torch.ones(3)) == ["add.Tensor", "mul.Tensor"]
    assert ops_of(lambda x: (lambda y: y * y)(x + 1), torch.ones(3)) == ["add.Tensor", "mul.Tensor"]


def test_results_of_another_size_or_dtype_and_overlapping_memory_are_kept():
    assert ops_of(lambda x: (x.sum() + 1) * x, torch.ones(3))[-1] == "mul.Tensor"
    assert ops_of(lambda x: (x + 1) > 2, torch.ones(3))[-1] == "gt.Scalar"
    assert ops_of(lambda x: torch.ones(1).expand(3) + x, torch.ones(3))[-1] == "add.Tensor"


def test_a_view_that_is_put_back_is_written_instead_of_its_base():
    def write_row(x: Any) -> Any:
        y = x + 1
        y[0].add_(torch.ones(2))
        return y

    ops = ops_of(write_row, torch.ones(2, 2))
    assert "add_.Tensor" in ops and "select_scatter.default" not in ops


def test_a_scatter_of_another_tensor_becomes_a_copy_into_the_view():
    def write_diagonal(x: Any) -> Any:
        y = x + 1
        y.diagonal().copy_(torch.zeros(2))
        return y

    ops = ops_of(write_diagonal, torch.ones(2, 2))
    assert "copy_.default" in ops and "diagonal_scatter.default" not in ops


@pytest.mark.parametrize("write", [
    lambda y: y.view(4).mul_(2), lambda y: y.split(1)[0].add_(5), lambda y: y.as_strided((2,), (2,), 1).fill_(3),
    lambda y: y[0][1:].add_(y[1][1:]), lambda y: (y.t_(), y.relu_())])
def test_results_stay_the_same(write: Callable[[Any], Any]):
    def change(x: Any) -> Any:
        y = x - 1
        write(y)
        write(y)
        return y.sum(0), y

    ops_of(change, torch.arange(4.0).view(2, 2))


def test_nodes_that_are_no_ops_of_aten_are_left():
    graph = reinplace(symbolic_trace(lambda x: torch.relu(x).add(1)), torch.ones(2))
    assert [node.op for node in graph.graph.nodes] == ["placeholder", "call_function", "call_method", "output"]
