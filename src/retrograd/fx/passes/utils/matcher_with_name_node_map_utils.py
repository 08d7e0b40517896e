"""Occurrences of a pattern that gives names to its nodes."""
from __future__ import annotations

from typing import Any

from retrograd.fx._codegen import _PyTreeInfo
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node
from retrograd.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from retrograd.utils import _pytree as pytree

__all__ = ["SubgraphMatcherWithNameNodeMap"]


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A matcher for a module whose last result is a dict of nodes by names; matches say where each of these is.

    >>> import retrograd as torch
    >>> from retrograd.fx.experimental.proxy_tensor import make_fx
    >>> def pattern(x):
    ...     y = torch.sin(x)
    ...     return torch.relu(y), {"inner": y}
    >>> wanted = make_fx(pattern)(torch.ones(2))
    >>> graph = make_fx(lambda a: torch.relu(torch.sin(a)) + 1)(torch.ones(2)).graph
    >>> [match.name_node_map for match in SubgraphMatcherWithNameNodeMap(wanted).match(graph)]
    [{'inner': sin}]
    """

    def __init__(self, pattern_gm: GraphModule, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False) -> None:
        self.name_node_map = take_names(pattern_gm)
        super().__init__(pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals)

    def match(self, graph: Graph, node_name_match: str | None = None) -> list[InternalMatch]:
        found = super().match(graph, node_name_match)
        for match in found:
            match.name_node_map.update({name: match.nodes_map[node] for name, node in self.name_node_map.items()})
        return found


def take_names(gm: GraphModule) -> dict[str, Node]:
    """Take the dict of names away from the results of a module."""
    end, spec = gm.graph.output_node(), getattr(gm, "_out_spec", None)
    results: Any = end.args[0]
    if spec is not None:
        results = pytree.tree_unflatten(list(results) if isinstance(results, list | tuple) else [results], spec)
    if not isinstance(results, tuple):
        raise AssertionError("Expecting the pattern graph to return a tuple")
    if len(results) < 2:
        raise AssertionError("Expecting the pattern graph to have at least two outputs")
    *kept, names = results
    if not isinstance(names, dict):
        raise AssertionError("Expecting the input graph to have a dict output as the last element")
    flat, kept_spec = pytree.tree_flatten(kept)
    end.args = (flat,)
    if spec is not None:
        before = gm.graph._codegen.pytree_info
        gm.graph._codegen.pytree_info = _PyTreeInfo(before.orig_args, before.in_spec, kept_spec)
    gm.recompile()
    return dict(names)
