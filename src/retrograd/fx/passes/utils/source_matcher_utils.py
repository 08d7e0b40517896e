"""Nodes grouped by the module or function of the program that they come from."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from retrograd.fx.graph import Graph
from retrograd.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes of one call, with what they take, what others use of them, and their parameters."""

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(graph: Graph, wanted_sources: list[Any],
                          filter_fn: Callable[[Node], bool] | None = None) -> dict[Any, list[SourcePartition]]:
    """The calls of some functions and types of modules, by what the nodes' `meta` says of their origin."""
    found: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        for source, name in origins(node, wanted_sources):
            found.setdefault(source, {}).setdefault(name, []).append(node)
    return {source: [partition(nodes, source) for nodes in calls.values()
                     if filter_fn is None or all([filter_fn(node) for node in nodes])]
            for source, calls in found.items()}


def origins(node: Node, wanted: list[Any]) -> Iterator[tuple[Any, str]]:
    """The source among those wanted that a node comes from, if any, and the name of the call."""
    stack = node.meta.get("source_fn_stack")
    if stack is not None:
        name, source = stack[-1]
        if source in wanted:
            yield source, name
        return
    function = node.meta.get("torch_fn")
    if function is not None and function[1].split(".")[1] in wanted:
        yield function[1].split(".")[1], function[0]
        return
    modules = node.meta.get("nn_module_stack")
    if modules and node.op == "call_function":
        name, kind = list(modules.values())[-1]
        for source in wanted:
            if kind == source or isinstance(source, type) and is_kind(kind, source):
                yield source, name
                return


def is_kind(kind: Any, source: type) -> bool:
    """Whether a type, or the name of one, is what was looked for."""
    return issubclass(kind, source) if isinstance(kind, type) else kind == f"{source.__module__}.{source.__qualname__}"


def partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    inputs = [arg for node in nodes for arg in node.args
              if isinstance(arg, Node) and arg not in inside and arg.op != "get_attr"]
    outputs = [node for node in nodes if node.op != "get_attr" and any([user not in inside for user in node.users])]
    return SourcePartition(nodes, source, list(dict.fromkeys(inputs)), outputs, [n for n in nodes if n.op == "get_attr"])


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether the second takes a value of the first."""
    return any([value in subgraph1.nodes for node in subgraph2.nodes for value in node.all_input_nodes])
