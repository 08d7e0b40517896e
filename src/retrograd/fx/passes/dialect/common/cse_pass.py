"""Values that are computed twice, computed once."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node
from retrograd.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "fx_graph_cse"]


class CSEPass(PassBase):
    """Leaves out nodes that do what a node before them did; random numbers and memory that is written to stay apart.

    >>> from retrograd.fx.experimental.proxy_tensor import make_fx
    >>> traced = make_fx(lambda x: torch.cos(x) + torch.cos(x))(torch.ones(2))
    >>> CSEPass()(traced).graph_module.code.count("cos.default")
    1
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = set() if banned_ops is None else banned_ops

    def call(self, graph_module: GraphModule) -> PassResult:
        graph, changed = joined(graph_module.graph, self.banned_ops)
        return PassResult(GraphModule(graph_module, graph), changed)


def fx_graph_cse(fx_g: Graph) -> Graph:
    """The graph without nodes that do what a node before them did."""
    return joined(fx_g, set())[0]


def joined(graph: Graph, banned: set[Any]) -> tuple[Graph, bool]:
    made = Graph()
    copies: dict[Node, Any] = {}
    known: dict[Any, Node] = {}
    changed = False
    for node in graph.nodes:
        if node.op in ("placeholder", "output", "get_attr") or is_its_own(node) or any([writes(user) for user in node.users]) \
                or {node.target, getattr(node.target, "overloadpacket", None)} & banned:
            copies[node] = made.node_copy(node, lambda value: copies[value])
            continue
        key = key_of((node.op, node.target, node.args, node.kwargs), copies)
        if key in known:
            copies[node] = known[key]
            changed = True
            continue
        copies[node] = made.node_copy(node, lambda value: copies[value])
        known[key] = copies[node]
    return made, changed


def writes(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def is_its_own(node: Node) -> bool:
    """Whether a node does something else each time: it writes, or it draws random numbers."""
    return writes(node) or torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def key_of(value: Any, copies: dict[Node, Any]) -> Any:
    """A value by which equal calls are found; numbers of different types differ."""
    if isinstance(value, Node):
        return ("node", id(copies[value]))
    if isinstance(value, tuple | list):
        return (type(value).__name__, *[key_of(item, copies) for item in value])
    if isinstance(value, dict):
        return ("dict", *[(name, key_of(item, copies)) for name, item in sorted(value.items(), key=str)])
    if isinstance(value, slice):
        return ("slice", *[key_of(item, copies) for item in (value.start, value.stop, value.step)])
    return (type(value), value)
