"""One spelling for calls, types from annotations, and passes over parameters, items and sizes."""
from __future__ import annotations

import operator
from typing import NamedTuple

import pytest

import retrograd as torch
from retrograd import fx, nn
from retrograd.fx.experimental.normalize import NormalizeArgs, NormalizeOperators
from retrograd.fx.operator_schemas import normalize_function, type_matches
from retrograd.fx.passes.annotate_getitem_nodes import annotate_getitem_nodes
from retrograd.fx.passes.graph_manipulation import get_size_of_all_nodes, replace_target_nodes_with
from retrograd.fx.passes.param_fetch import extract_attrs_for_lowering, lift_lowering_attrs_to_nodes


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.relu(self.linear(x))
        return torch.add(y, self.scale)


def calls(module: fx.GraphModule) -> dict[str, fx.Node]:
    return {node.name: node for node in module.graph.nodes}


def test_arguments_are_written_out_by_name_with_their_defaults():
    traced = fx.symbolic_trace(Model())
    for node in traced.graph.nodes:
        node.meta["type"] = torch.Tensor
    made = NormalizeArgs(traced).transform()
    assert list(calls(made)["relu"].kwargs) == ["input", "inplace"] and not calls(made)["relu"].args
    assert list(calls(made)["linear"].kwargs) == ["input"]
    x = torch.randn(4, 2)
    assert torch.equal(made(x), traced(x))


def test_functions_with_other_names_than_their_schemas_keep_their_own():
    made = normalize_function(torch.atleast_1d, (torch.ones(1),), normalize_to_only_use_kwargs=True)
    assert made is None or "input" not in made.kwargs


def test_a_bool_is_no_list_of_dimensions():
    assert type_matches(list[int], int) and not type_matches(list[int], bool)
    made = normalize_function(torch.var_mean, (torch.ones(2), True), {}, (torch.Tensor, bool), {}, True)
    assert made is not None and made.kwargs["unbiased"] is True and "dim" not in made.kwargs


def test_functions_of_two_arguments_become_operators():
    made = NormalizeOperators(fx.symbolic_trace(Model())).transform()
    assert calls(made)["add"].target is operator.add


def test_items_have_the_types_that_their_sequences_name():
    class Pair(NamedTuple):
        number: int
        tensor: torch.Tensor

    def types(kind: object) -> list[object]:
        graph = fx.symbolic_trace(lambda x: (x[0], x[1])).graph
        next(iter(graph.nodes)).type = kind
        annotate_getitem_nodes(graph)
        return [node.type for node in graph.nodes if node.target is operator.getitem]
    assert types(tuple[int, str]) == [int, str] and types(list[int]) == [int, int] and types(tuple[str, ...]) == [str, str]
    assert types(None) == [None, None]


def test_sizes_of_results_and_parameters():
    traced = fx.symbolic_trace(Model())
    get_size_of_all_nodes(traced, [torch.ones(4, 2)])
    sizes = {name: node.size_bytes for name, node in calls(traced).items() if hasattr(node, "size_bytes")}
    assert sizes["x"] == (32, 32) and sizes["linear"] == (48, 48 + 36) and sizes["relu"] == (48, 48)


def test_targets_are_exchanged():
    traced = fx.symbolic_trace(Model())
    replace_target_nodes_with(traced, "call_function", torch.add, "call_function", torch.sub)
    assert calls(traced)["add"].target is torch.sub


def test_attributes_of_modules_are_fetched_for_lowering():
    traced = fx.symbolic_trace(Model())
    lift_lowering_attrs_to_nodes(traced)
    assert set(calls(traced)["linear"].attrs_for_lowering) == {"name", "weight", "bias"}
    with pytest.raises(RuntimeError, match="GELU is not in the list"):
        extract_attrs_for_lowering(nn.GELU())
