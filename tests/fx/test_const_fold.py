"""What depends on no input is computed once, and kept as parameters."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.fx.experimental.const_fold import get_unique_attr_name_in_module, split_const_subgraphs


class Weighted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Parameter(torch.ones(2))
        self.second = torch.nn.Parameter(torch.full((2,), 3.0))
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x: Any, y: Any) -> Any:
        total = self.first + self.second
        return self.linear(x * (total * 2)) + (total - 1) * y


class Plain(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: Any) -> Any:
        return x + self.weight.exp().neg()


def calls(graph: Any) -> list[Any]:
    return [node.name for node in graph.nodes if node.op not in ("placeholder", "output")]


def test_several_constants_are_entries_of_one_list() -> None:
    torch.manual_seed(0)
    module = Weighted()
    folded = split_const_subgraphs(module)
    assert calls(folded.graph) == ["_fx_const_folded_attrs", "getitem", "getitem_1", "mul_1", "linear", "mul_2", "add_1"]
    assert calls(folded.const_subgraph_module.graph) == ["first", "second", "add", "mul", "sub"]
    x = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(folded(x, x), module(x, x))
    assert folded.has_folding_been_run and len(folded._FX_CONST_FOLDED_ATTRS) == 2
    with pytest.raises(AssertionError, match="Folding has already been run"):
        folded.run_folding()


def test_nodes_that_a_function_names_are_not_folded() -> None:
    folded = split_const_subgraphs(Plain(), skip_folding_node_fn=lambda node: node.target == "neg")
    assert calls(folded.graph) == ["_fx_const_folded_attrs", "neg", "add"]
    torch.testing.assert_close(folded(torch.zeros(2)), -torch.ones(2).exp())


def test_a_graph_without_constants_stays_as_it_is() -> None:
    folded = split_const_subgraphs(torch.fx.symbolic_trace(lambda x: x + 1))
    assert folded.const_subgraph_module is None and folded(torch.ones(1)).item() == 2


def test_names_of_new_attributes_are_free_and_legal() -> None:
    module = torch.nn.Linear(2, 2)
    module.weight_1 = None
    assert [get_unique_attr_name_in_module(module, name) for name in ("weight", "new", "3a.b")] == ["weight_2", "new", "_3a_b"]
