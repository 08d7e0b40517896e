"""Asserts and annotated assignments are traced after the source was rewritten."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.fx import GraphModule, symbolic_trace
from retrograd.fx.annotate import annotate
from retrograd.fx.experimental.rewriter import RewritingTracer


def checked(x: Any, limit: int = 3) -> Any:
    assert x.sum() > 0, "must be positive"
    assert x.sum() < 100
    return x * limit


class Checked(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        assert x.sum() > 0, "must be positive"
        return self.linear(x) * self.scale


def typed(x: Any) -> Any:
    y: int = x + 1
    z: int
    z = y * 2
    return z


def test_asserts_of_a_function_are_part_of_its_graph():
    graph = RewritingTracer().trace(checked)
    module = GraphModule(torch.nn.Module(), graph)
    assert [node.target for node in graph.nodes if node.op == "call_function"].count(torch._assert) == 2
    assert module(torch.ones(2)).tolist() == [3.0, 3.0]
    with pytest.raises(AssertionError, match="must be positive"):
        module(-torch.ones(2))


def test_asserts_of_a_module_are_part_of_its_graph():
    module = Checked()
    made = GraphModule(module, RewritingTracer().trace(module))
    x = torch.ones(2)
    torch.testing.assert_close(made(x), module(x))
    with pytest.raises(AssertionError, match="must be positive"):
        made(-x)


def test_annotated_assignments_give_nodes_a_type():
    typed.__globals__["annotate"] = annotate
    graph = RewritingTracer().trace(typed)
    assert [node.type for node in graph.nodes if node.name == "add"] == [int]


def test_a_value_gets_one_type():
    def twice(x: Any) -> Any:
        return annotate(annotate(x + 1, int), float)

    with pytest.raises(RuntimeError, match="Tried to annotate a value that already had a type"):
        symbolic_trace(twice)
    assert annotate(3, int) == 3
