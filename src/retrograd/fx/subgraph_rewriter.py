"""Finding a pattern in a graph and putting something else in its place."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from retrograd.fx._symbolic_trace import symbolic_trace
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule, copy_attribute
from retrograd.fx.node import Node, map_arg

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """One occurrence: where it ends, and which node of the graph each node of the pattern is."""

    anchor: Node
    nodes_map: dict[Node, Any]


class ReplacedPatterns(NamedTuple):
    """An occurrence together with the nodes that took its place."""

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


class Matcher:
    """Looks for `pattern` so that it ends at a given node."""

    def __init__(self, pattern: Graph, module: Any, pattern_module: Any, ignore_literals: bool) -> None:
        self.pattern, self.module, self.pattern_module = pattern, module, pattern_module
        self.ignore_literals = ignore_literals
        result = pattern.output_node().args[0]
        self.ends = list(result) if isinstance(result, tuple | list) else [result]

    def match_at(self, node: Node) -> dict[Node, Any] | None:
        found: dict[Node, Any] = {}
        return found if self.same(self.ends[0], node, found) and self.rest(found) else None

    def rest(self, found: dict[Node, Any]) -> bool:
        """The other results of the pattern must have been met on the way, or hang on what was."""
        for end in self.ends[1:]:
            if end in found:
                continue
            known = [found[i] for i in end.all_input_nodes if i in found]
            candidates = list(known[0].users) if known else []
            if not any(self.attempt(end, candidate, found) for candidate in candidates):
                return False
        return True

    def attempt(self, wanted: Node, node: Node, found: dict[Node, Any]) -> bool:
        trial = dict(found)
        if self.same(wanted, node, trial):
            found.update(trial)
            return True
        return False

    def same(self, wanted: Any, value: Any, found: dict[Node, Any]) -> bool:
        """Whether `value` fits the place of `wanted`, a node of the pattern or a literal in it."""
        if not isinstance(wanted, Node):
            if isinstance(value, Node):
                return False
            if isinstance(wanted, tuple | list) and isinstance(value, tuple | list):
                return len(wanted) == len(value) and all([self.same(w, v, found) for w, v in zip(wanted, value, strict=True)])
            if isinstance(wanted, dict) and isinstance(value, dict):
                return wanted.keys() == value.keys() and all([self.same(wanted[k], value[k], found) for k in wanted])
            return self.ignore_literals or type(wanted) is type(value) and wanted == value
        if wanted in found:
            return found[wanted] is value or not isinstance(value, Node) and found[wanted] == value
        if isinstance(value, Node) and any([value is other for other in found.values()]):
            return False                          # two nodes of a pattern are two nodes of the graph
        if wanted.op == "placeholder":
            found[wanted] = value
            return True
        if not isinstance(value, Node) or wanted.op != value.op or not self.same_target(wanted, value):
            return False
        if len(wanted.args) != len(value.args) or wanted.kwargs.keys() != value.kwargs.keys():
            bound = self.normalized(wanted, value)
            if bound is None:
                return False
            pairs = bound
        else:
            pairs = [*zip(wanted.args, value.args, strict=True), *[(wanted.kwargs[k], value.kwargs[k]) for k in wanted.kwargs]]
        found[wanted] = value
        if all([self.same(w, v, found) for w, v in pairs]):
            return True
        found.pop(wanted, None)
        return False

    def same_target(self, wanted: Node, node: Node) -> bool:
        if wanted.op == "call_module" and self.pattern_module is not None:
            return type(self.pattern_module.get_submodule(wanted.target)) is type(self.module.get_submodule(node.target))
        return wanted.op == "get_attr" or wanted.target == node.target

    def normalized(self, wanted: Node, node: Node) -> list[tuple[Any, Any]] | None:
        """The arguments of both in pairs, where one gives by name what the other gives by position."""
        first, second = (n.normalized_arguments(m, normalize_to_only_use_kwargs=True)
                         for n, m in ((wanted, self.pattern_module), (node, self.module)))
        if first is None or second is None or first[1].keys() != second[1].keys():
            return None
        return [(first[1][key], second[1][key]) for key in first[1]]


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
    ...                                     [lambda match, graph, pattern: match.anchor.args[0].op == "placeholder"])
    >>> [node.name for node in model.graph.nodes]
    ['x', 'tanh', 'add', 'relu_1', 'add_1', 'output']
    """
    wanted, wanted_module = graph_of(pattern)
    graph = gm.graph
    matcher = Matcher(wanted, gm, wanted_module, ignore_literals)
    inner = [node for node in wanted.nodes if node.op not in ("placeholder", "output")]
    taken: set[Node] = set()
    matches: list[Match] = []
    for node in reversed(graph.nodes):
        found = None if node.op in ("output", "placeholder") or node in taken else matcher.match_at(node)
        if found is None:
            continue
        used = [found[n] for n in inner if n in found]
        if any([n in taken for n in used]) or escapes(used, [found[e] for e in matcher.ends if isinstance(e, Node)]):
            continue
        match = Match(node, found)
        if all([accepts(match, graph, wanted) for accepts in match_filters or ()]):
            taken.update(used)
            matches.append(match)
    matches.reverse()
    renamed: dict[Node, Any] = {}                 # what earlier replacements put in the place of nodes
    return [replaced(gm, wanted, matcher.ends, match, replacement, replacement_callback, renamed) for match in matches]


def escapes(used: list[Node], ends: list[Any]) -> bool:
    """Whether something outside uses a value that only the pattern may see."""
    inside = set(used)
    return any([node not in ends and any([user not in inside for user in node.users]) for node in used])


def replaced(gm: GraphModule, wanted: Graph, ends: list[Any], match: Match, replacement: Any,
             callback: Callable[..., Any] | None, renamed: dict[Node, Any]) -> ReplacedPatterns:
    """Put the replacement in the place of one match."""
    graph = gm.graph
    program = callback(match, graph, wanted) if callback is not None else replacement
    other, other_module = graph_of(program)
    if other_module is not None:
        for node in other.nodes:
            if node.op in ("call_module", "get_attr") and not has_path(gm, node.target):
                copy_attribute(other_module, gm, node.target)
    inputs = wanted.find_nodes(op="placeholder")
    places = other.find_nodes(op="placeholder")
    if len(inputs) != len(places):
        raise RuntimeError(f"the pattern takes {len(inputs)} arguments, its replacement {len(places)}: they must be as many")
    values: dict[Node, Any] = {}
    for i, place in zip(inputs, places, strict=True):
        value = match.nodes_map.get(i)
        values[place] = renamed.get(value, value) if isinstance(value, Node) else value
    old = [match.nodes_map[n] for n in wanted.nodes if n.op not in ("placeholder", "output") and n in match.nodes_map]
    anchors = [value for value in values.values() if isinstance(value, Node)]
    first = min(old) if not anchors or max(anchors) < min(old) else max(anchors).next
    with graph.inserting_before(first):
        result = graph.graph_copy(other, values)
    fresh = [values[n] for n in other.nodes if n.op not in ("placeholder", "output")]
    results = list(result) if isinstance(result, tuple | list) else [result]
    for end, new in zip(ends, results, strict=True):
        before = match.nodes_map[end]
        if isinstance(new, Node):
            before.replace_all_uses_with(new)
        else:
            for user in list(before.users):
                user.args = map_arg(user.args, functools.partial(instead_of, before, new))
        renamed[before] = new
    for node in sorted(old, reverse=True):
        if not node.users:
            graph.erase_node(node)
    gm.recompile()
    gm.graph.lint()
    return ReplacedPatterns(match.anchor, match.nodes_map, [n for n in fresh if isinstance(n, Node)])


def instead_of(before: Node, new: Any, node: Node) -> Any:
    return new if node is before else node


def has_path(module: Any, name: str) -> bool:
    for part in name.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
