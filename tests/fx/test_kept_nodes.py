"""Graphs of make_fx hold every op that ran, also those whose results are not used."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.func import functionalize, grad
from retrograd.fx.experimental.proxy_tensor import make_fx


def targets(f: Any, *args: Any) -> list[str]:
    return [str(node.target) for node in make_fx(f)(*args).graph.nodes if node.op == "call_function"]


def test_unused_results_stay_in_the_graph() -> None:
    x = torch.ones(4, 2)
    assert targets(lambda x: (x.sin(), x.cos())[1], x) == ["aten.sin.default", "aten.cos.default"]
    assert targets(lambda x: (torch.zeros(2), x.cos())[1], x) == ["aten.zeros.default", "aten.cos.default"]
    assert make_fx(lambda x: x.split(2)[0])(x).code.count("getitem") == 4


def test_a_view_that_was_written_through_is_taken_again() -> None:
    def write(x: Any) -> Any:
        y = x + x
        y.view(2, 4).add_(1)
        return y
    x = torch.ones(4, 2)
    assert targets(functionalize(write), x) == ["aten.add.Tensor", "aten.view.default", "aten.add.Tensor", "aten.view.default",
                                                "aten.view.default"]
    assert torch.equal(make_fx(functionalize(write))(x)(x), write(x))


def test_unused_nodes_change_no_result() -> None:
    x = torch.arange(3.0)
    graph = make_fx(grad(lambda x: (x.exp(), x.sin().sum())[1]))(x)
    assert torch.equal(graph(x), x.cos())
    before = len(graph.graph.nodes)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    assert len(graph.graph.nodes) < before and torch.equal(graph(x), x.cos())
