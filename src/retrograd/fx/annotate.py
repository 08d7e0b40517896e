"""Types for values of a program that is being traced."""
from __future__ import annotations

from typing import Any

from retrograd.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Give the node of a traced value a type, and return the value; other values are returned as they are.

    >>> from retrograd.fx import symbolic_trace
    >>> [node.type for node in symbolic_trace(lambda x: annotate(x + 1, int)).graph.nodes]
    [None, <class 'int'>, None]
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and "
                               f"new type is {type}. This could happen if you tried to annotate a function parameter value (in "
                               "which case you should use the type slot on the function signature) or you called annotate on "
                               "the same value twice")
        val.node.type = type
    return val
