"""Occurrences of a graph in another one."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import retrograd as torch
from retrograd.fx.graph import Graph
from retrograd.fx.node import Node
from retrograd.fx.passes.utils.fuser_utils import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One occurrence: which node of the graph each node of the pattern is, what it takes and what it gives."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Any] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)


class SubgraphMatcher:
    """Looks for a pattern: a placeholder is any value, and only what the pattern returns may be used outside of it.

    >>> pattern = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph
    >>> graph = torch.fx.symbolic_trace(lambda a: torch.relu(a + 1) * 2).graph
    >>> [match.returning_nodes for match in SubgraphMatcher(pattern).match(graph)]
    [[relu]]
    """

    def __init__(self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False) -> None:
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        output = pattern.output_node()
        for node in pattern.nodes:
            if node.op != "output" and not node.users and not node.is_impure():
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in self.pattern_returning_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str | None = None) -> list[InternalMatch]:
        """The occurrences in a graph, in its order."""
        choices = [[node for node in graph.nodes if self._nodes_are_equal(anchor, node, node_name_match)]
                   for anchor in self.pattern_anchors]
        found = []
        for nodes_map in self.combined(choices, 0, {}, node_name_match) if choices else ():
            if not self._is_contained(nodes_map) or not validate_partition(
                    [value for pn, value in nodes_map.items() if pn.op not in ("placeholder", "output")]):
                continue
            found.append(InternalMatch(list(self.pattern_anchors), nodes_map,
                                       [nodes_map[p] for p in self.pattern_placeholder_nodes if p in nodes_map],
                                       [nodes_map[r] for r in self.pattern_returning_nodes]))
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found

    def combined(self, choices: list[list[Node]], number: int, found: dict[Node, Any],
                 node_name_match: str | None = None) -> Iterator[dict[Node, Any]]:
        """Every way in which all anchors have a place."""
        if number == len(choices):
            yield found
            return
        for node in choices[number]:
            trial = dict(found)
            if self._match_nodes(self.pattern_anchors[number], node, trial, node_name_match):
                yield from self.combined(choices, number + 1, trial, node_name_match)

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str | None = None) -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        values = []
        for node in (pn, gn):
            value: Any = node.graph.owning_module
            for part in str(node.target).split("."):
                value = getattr(value, part)
            values.append(value)
        if type(values[0]) is not type(values[1]):
            return False
        if isinstance(values[0], torch.Tensor):
            return True
        if isinstance(values[0], torch.fx.GraphModule):
            inner = SubgraphMatcher(values[0].graph, match_output=True, match_placeholder=False,
                                    remove_overlapping_matches=False, ignore_literals=self.ignore_literals)
            return bool(inner.match(values[1].graph))
        return bool(values[0] == values[1])

    def _match_nodes(self, pn: Node, gn: Any, nodes_map: dict[Node, Any], node_name_match: str | None = None) -> bool:
        if pn in nodes_map:
            return nodes_map[pn] is gn
        if any([gn is value for value in nodes_map.values()]) or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        before = dict(nodes_map)
        nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        first, second = arguments(pn), arguments(gn)
        if self._match_args(first[0], second[0], nodes_map) and self._match_args(first[1], second[1], nodes_map):
            return True
        nodes_map.clear()
        nodes_map.update(before)
        return False

    def _match_args(self, wanted: Any, given: Any, nodes_map: dict[Node, Any]) -> bool:
        if isinstance(wanted, Node):
            if isinstance(given, Node):
                return self._match_nodes(wanted, given, nodes_map)
            return self._match_literals(wanted, given, nodes_map)
        if isinstance(given, Node):
            return self.ignore_literals
        if isinstance(wanted, tuple | list):
            return isinstance(given, tuple | list) and len(wanted) == len(given) and all(
                [self._match_args(w, g, nodes_map) for w, g in zip(wanted, given, strict=True)])
        if isinstance(wanted, dict):
            return isinstance(given, dict) and wanted.keys() == given.keys() and all(
                [self._match_args(wanted[key], given[key], nodes_map) for key in wanted])
        return self.ignore_literals or type(wanted) is type(given) and bool(wanted == given)

    def _match_literals(self, pn: Node, literal: Any, nodes_map: dict[Node, Any]) -> bool:
        """A placeholder may be a number."""
        if pn.op != "placeholder" or self.match_placeholder:
            return False
        if pn in nodes_map:
            return bool(nodes_map[pn] == literal)
        nodes_map[pn] = literal
        return True

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether only what the pattern returns is used outside."""
        inside = {value for value in nodes_map.values() if isinstance(value, Node)}
        inner = [value for pn, value in nodes_map.items()
                 if isinstance(value, Node) and pn.op != "placeholder" and pn not in self.pattern_returning_nodes]
        return all([user in inside for node in inner for user in node.users])

    def _remove_overlapping_matches(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        kept: list[InternalMatch] = []
        taken: set[Any] = set()
        for match in matches:
            used = {value for pn, value in match.nodes_map.items() if pn.op not in ("placeholder", "output")}
            if not used & taken:
                kept.append(match)
                taken |= used
        return kept


def arguments(node: Node) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call; of an operator with a schema all of them, in the schema's order."""
    schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
    if schema is None:
        return list(node.args), dict(node.kwargs)
    made = []
    for i, argument in enumerate(schema.arguments):
        if i < len(node.args):
            made.append(node.args[i])
        elif argument.name in node.kwargs:
            made.append(node.kwargs[argument.name])
        else:
            made.append(argument.default_value if argument.has_default_value() else None)
    return made, {}
