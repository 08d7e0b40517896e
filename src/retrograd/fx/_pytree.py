"""How arguments of classes that graphs know are flattened."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.utils import _pytree as pytree

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

SUPPORTED_NODES: dict[type, Callable[..., list[Any]]] = {}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Callable[..., list[Any]],
                                 flatten_fn_exact_match_spec: Any = None) -> None:
    """Say how an instance of a class is flattened as a spec wants it."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree_value: Any, spec: Any) -> list[Any]:
    """The leaves of a value whose structure is known.

    >>> tree_flatten_spec([1, (2, 3)], pytree.tree_structure([0, (0, 0)]))
    [1, 2, 3]
    """
    if spec.is_leaf():
        return [pytree_value]
    if spec.type in SUPPORTED_NODES:
        parts = SUPPORTED_NODES[spec.type](pytree_value, spec)
        return [leaf for part, child in zip(parts, spec.children(), strict=True) for leaf in tree_flatten_spec(part, child)]
    return pytree.tree_leaves(pytree_value)
