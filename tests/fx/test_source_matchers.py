"""Nodes found by the names that a pattern gives them, and by the calls that they come from."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.fx import symbolic_trace
from retrograd.fx.experimental.proxy_tensor import make_fx
from retrograd.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap
from retrograd.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions


def test_matches_say_where_the_named_nodes_of_a_pattern_are() -> None:
    def pattern(x: Any) -> Any:
        inner = torch.sin(x)
        outer = torch.relu(inner)
        return outer, {"inner": inner, "outer": outer}

    x = torch.ones(2)
    graph = make_fx(lambda x: torch.relu(torch.sin(torch.sin(x))) * 2)(x).graph
    found = SubgraphMatcherWithNameNodeMap(make_fx(pattern)(x)).match(graph)
    assert [{name: node.name for name, node in match.name_node_map.items()} for match in found] == [
        {"inner": "sin_1", "outer": "relu"}]
    with pytest.raises(AssertionError, match="return a tuple"):
        SubgraphMatcherWithNameNodeMap(make_fx(torch.sin)(x))
    with pytest.raises(AssertionError, match="a dict output as the last element"):
        SubgraphMatcherWithNameNodeMap(make_fx(lambda x: (x.sin(), x.cos()))(x))


def test_nodes_are_grouped_by_the_calls_that_they_come_from() -> None:
    traced = symbolic_trace(lambda x: (x.relu() + 1) * 2)
    nodes = {node.name: node for node in traced.graph.nodes}
    nodes["relu"].meta["source_fn_stack"] = [("first", torch.relu)]
    nodes["add"].meta["torch_fn"] = ("add_1", "builtin_function_or_method.add")
    nodes["mul"].meta["nn_module_stack"] = {"m": ("layer", torch.nn.Linear)}
    found = get_source_partitions(traced.graph, [torch.relu, "add", torch.nn.Module])
    relu, add, mul = [found[source][0] for source in (torch.relu, "add", torch.nn.Module)]
    assert [(p.nodes, p.input_nodes, p.output_nodes) for p in (relu, add)] == [
        ([nodes["relu"]], [nodes["x"]], [nodes["relu"]]), ([nodes["add"]], [nodes["relu"]], [nodes["add"]])]
    assert check_subgraphs_connected(relu, add) and not check_subgraphs_connected(relu, mul)
    assert get_source_partitions(traced.graph, ["add"], lambda node: node.name != "add") == {"add": []}
