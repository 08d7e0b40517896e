"""Finding a pattern in a graph and putting something else in its place."""
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from retrograd.fx._symbolic_trace import symbolic_trace
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule, copy_attribute
from retrograd.fx.node import Node, map_arg
from retrograd.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from retrograd.nn import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """One occurrence: where the pattern ends, and which node of the graph each node of the pattern is."""

    anchor: Node
    nodes_map: dict[Node, Any]


@dataclass
class ReplacedPatterns:
    """An occurrence together with the nodes that took its place."""

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace every occurrence of `pattern` (a function, module or graph) in `gm` by `replacement`.

    >>> import retrograd as torch
    >>> model = torch.fx.symbolic_trace(lambda x: torch.neg(torch.neg(x)) + 1)
    >>> matches = replace_pattern(model, lambda x: torch.neg(torch.neg(x)), lambda x: x * 1)
    >>> len(matches), [node.name for node in model.graph.nodes]
    (1, ['x', 'mul', 'add', 'output'])
    """
    return [Match(r.anchor, r.nodes_map) for r in replace_pattern_with_filters(gm, pattern, replacement)]


def graph_of(program: Any) -> tuple[Graph, Any]:
    if isinstance(program, Graph):
        return program, program.owning_module
    if isinstance(program, GraphModule):
        return program.graph, program
    traced = symbolic_trace(program)
    return traced.graph, traced


def replace_pattern_with_filters(gm: GraphModule, pattern: Any, replacement: Any = None,
                                 match_filters: list[Callable[..., bool]] | None = None, ignore_literals: bool = False,
                                 replacement_callback: Callable[..., Any] | None = None,
                                 node_name_match: str = "") -> list[ReplacedPatterns]:
    """`replace_pattern` for those occurrences that every filter accepts.

    >>> import retrograd as torch
    >>> model = torch.fx.symbolic_trace(lambda x: torch.relu(x) + torch.relu(x + 1))
    >>> done = replace_pattern_with_filters(model, lambda x: torch.relu(x), lambda x: torch.tanh(x),
    ...                                     [lambda match, graph, pattern: match.placeholder_nodes[0].op == "placeholder"])
    >>> [node.name for node in model.graph.nodes]
    ['x', 'add', 'relu_1', 'tanh', 'add_1', 'output']
    """
    wanted, _ = graph_of(pattern)
    matcher = SubgraphMatcher(wanted, ignore_literals=ignore_literals)
    matches = [match for match in matcher.match(gm.graph, node_name_match)
               if all([accepts(match, gm.graph, wanted) for accepts in match_filters or ()])]
    if replacement_callback is None:
        if replacement is None:
            raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
        traced = graph_of(replacement)
    renamed: dict[Node, Any] = {}                 # what earlier replacements put in the place of nodes
    done = []
    for match in matches:
        other, module = traced if replacement_callback is None else graph_of(replacement_callback(match, gm.graph, wanted))
        done.append(replaced(gm.graph, wanted, match, other, renamed))
        if module is not None:
            take_attributes(gm, module)
    if isinstance(replacement, Module):
        gm.delete_all_unused_submodules()
    gm.recompile()
    return done


def take_attributes(gm: GraphModule, module: Any) -> None:
    """Copy the submodules and tensors that a replacement uses."""
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and not has_path(gm, node.target):
            if not has_path(module, node.target):
                raise RuntimeError(f'Attempted to create a "{node.op}" node during subgraph rewriting with target '
                                   f"{node.target}, but the referenced attribute does not exist in the replacement GraphModule")
            copy_attribute(module, gm, node.target)
    gm.graph.lint()


def replaced(graph: Graph, wanted: Graph, match: InternalMatch, other: Graph, renamed: dict[Node, Any]) -> ReplacedPatterns:
    """Put a graph in the place of one match."""
    places = other.find_nodes(op="placeholder")
    if len(match.placeholder_nodes) != len(places):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(places)}")
    for pattern_node, value in match.nodes_map.items():
        if isinstance(value, Node) and pattern_node.op == "placeholder":
            match.nodes_map[pattern_node] = renamed.get(value, value)
    match.placeholder_nodes = [renamed.get(v, v) if isinstance(v, Node) else v for v in match.placeholder_nodes]
    values: dict[Node, Any] = dict(zip(places, match.placeholder_nodes, strict=True))
    users = [user for node in match.returning_nodes for user in node.users]
    with graph.inserting_before(min(users) if users else max(match.returning_nodes).next):
        result = graph.graph_copy(other, values)
    results = list(result) if isinstance(result, tuple | list) else [result]
    if len(match.returning_nodes) != len(results):
        raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}")
    for before, new in zip(match.returning_nodes, results, strict=True):
        if isinstance(new, Node):
            before.replace_all_uses_with(new)
        else:
            for user in list(before.users):
                user.args = map_arg(user.args, functools.partial(instead_of, before, new))
        renamed[before] = new
    for node in reversed(wanted.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    taken = [value for value in match.placeholder_nodes if isinstance(value, Node)]
    return ReplacedPatterns(match.anchors[0], match.nodes_map,
                            [value for value in values.values() if isinstance(value, Node) and value not in taken])


def instead_of(before: Node, new: Any, node: Node) -> Any:
    return new if node is before else node


def has_path(module: Any, name: str) -> bool:
    for part in name.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
