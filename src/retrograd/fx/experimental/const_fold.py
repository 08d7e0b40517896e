"""Parts of a graph that depend on no input, computed once before the first call."""
from __future__ import annotations

import re
from collections.abc import Callable
from operator import getitem
from typing import Any

import retrograd as torch
from retrograd.fx._symbolic_trace import symbolic_trace
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module that keeps the values of a graph of constants as parameters, from its first call on."""

    def __init__(self, root: Any, graph: Graph, const_subgraph: Graph | None = None,
                 fx_const_folded_attrs_name: str | None = None, device_for_folded_attrs: str = "cuda") -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        kept: Any = torch.nn.ParameterList([self.parameter(value) for value in found]) if isinstance(found, tuple) \
            else self.parameter(found)
        setattr(self, self.fx_const_folded_attrs_name, kept)

    def parameter(self, value: Any) -> Any:
        if isinstance(value, int):
            return torch.nn.Parameter(torch.tensor([float(value)], device=self.device_for_folded_attrs), requires_grad=False)
        return torch.nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: Any, name: str) -> str:
    """A name like the given one that the module does not have.

    >>> get_unique_attr_name_in_module(torch.nn.Linear(2, 2), "weight")
    'weight_1'
    """
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    name = f"_{name}" if name[0].isdigit() else name
    while hasattr(mod_traced, name):
        base, _, number = name.rpartition("_")
        name = f"{base}_{int(number) + 1}" if base and number.isdigit() else f"{name}_1"
    return name


def split_const_subgraphs(module: Any, skip_folding_node_fn: Callable[[Node], bool] | None = None,
                          device_for_folded_attrs: str = "cpu") -> FoldedGraphModule:
    """A module in which what depends on no input is computed once; nodes that the function names are left alone.

    >>> class Scaled(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.Parameter(torch.ones(2))
    ...     def forward(self, x):
    ...         return x * (self.weight + 1)
    >>> folded = split_const_subgraphs(Scaled())
    >>> [node.name for node in folded.graph.nodes]
    ['x', '_fx_const_folded_attrs', 'mul', 'output']
    >>> folded(torch.ones(2)).tolist()
    [2.0, 2.0]
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant: dict[Node, None] = {}
    for node in traced.graph.nodes:
        if node.op not in ("placeholder", "output") and all([value in constant for value in node.all_input_nodes]) \
                and not (skip_folding_node_fn is not None and skip_folding_node_fn(node)) and not writes(traced, node):
            constant[node] = None
    if all([node.op == "get_attr" for node in constant]):
        return FoldedGraphModule(traced, traced.graph)
    ends = [node for node in constant
            if node.op != "get_attr" and any([user not in constant for user in node.users])]
    before = Graph()
    copies: dict[Node, Node] = {}
    for node in constant:
        copies[node] = before.node_copy(node, copies.__getitem__)
    before.output(copies[ends[0]] if len(ends) == 1 else tuple([copies[node] for node in ends]))
    before.eliminate_dead_code()
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    setattr(traced, name, torch.nn.Parameter(torch.empty(0)) if len(ends) == 1 else torch.nn.ParameterList())
    after = Graph()
    values: dict[Node, Node] = {}
    for node in traced.graph.nodes:
        if node is ends[0]:
            folded = after.get_attr(name)
            values.update({end: folded if len(ends) == 1 else after.call_function(getitem, (folded, i))
                           for i, end in enumerate(ends)})
        elif node not in constant or node not in ends and any([user not in constant for user in node.users]):
            values[node] = after.node_copy(node, values.__getitem__)
    return FoldedGraphModule(traced, after, before, name, device_for_folded_attrs)


def writes(module: Any, node: Node) -> bool:
    """Whether a node does more than compute a value."""
    if node.is_impure():
        return True
    called = module.get_submodule(node.target) if node.op == "call_module" else None
    return isinstance(called, GraphModule) and any(
        [writes(called, inner) for inner in called.graph.nodes if inner.op in ("call_function", "call_module")])
