"""Types of the items of tuples and lists, from the types of these."""
from __future__ import annotations

import operator
import typing

from retrograd.fx.graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give nodes that take one item of a value the type of that item, where the type of the value says it.

    >>> import retrograd as torch
    >>> graph = torch.fx.symbolic_trace(lambda x: x[0]).graph
    >>> next(iter(graph.nodes)).type = tuple[int, torch.Tensor]
    >>> annotate_getitem_nodes(graph)
    >>> [node.type for node in graph.nodes if node.target is operator.getitem]
    [<class 'int'>]
    """
    for node in graph.nodes:
        if node.target is not operator.getitem:
            continue
        sequence, index = node.args
        kind = sequence.type
        if kind is None:
            continue
        named = getattr(kind, "__annotations__", None) if isinstance(kind, type) and issubclass(kind, tuple) else None
        inner = list(named.values()) if named else typing.get_args(kind)
        if typing.get_origin(kind) is list:
            node.type = inner[0]
        elif len(inner) == 2 and inner[1] is ...:
            node.type = inner[0]
        elif inner and isinstance(index, int) and -len(inner) <= index < len(inner):
            node.type = inner[index]
