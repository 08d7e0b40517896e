"""Nested tuples, lists and dicts of values: flattening and unflattening."""
from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any


class TreeSpec:
    """The structure of a nested value without its leaves; `kind` is None for a leaf."""

    __slots__ = ("children", "context", "kind")

    def __init__(self, kind: Any, context: Any, children: list[TreeSpec]) -> None:
        self.kind = kind
        self.context = context        # the keys of a dict, the class of a namedtuple
        self.children = children

    @property
    def num_leaves(self) -> int:
        return 1 if self.kind is None else sum([child.num_leaves for child in self.children])

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TreeSpec) and self.kind is other.kind and self.context == other.context
                and self.children == other.children)

    def __hash__(self) -> int:
        return hash((self.kind, len(self.children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.kind is None:
            return "*"
        prefix = f"TreeSpec({self.kind.__name__}, {self.context}, ["
        inner = (",\n" + " " * (indent + 2)).join([child.__repr__(indent + 2) for child in self.children])
        return prefix + inner + "])"


LEAF = TreeSpec(None, None, [])


def is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def parts(value: Any) -> tuple[Any, Any, list[Any]] | None:
    """(kind, context, children) of a container, None for a leaf."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind, None, list(value)
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        keys = list(value)
        context = [value.default_factory, keys] if kind is defaultdict else keys
        return kind, context, [value[key] for key in keys]
    if kind in REGISTERED:
        children, context = REGISTERED[kind][0](value)
        return kind, context, list(children)
    if is_namedtuple(value):
        return (tuple if kind.__module__ == "torch.return_types" else namedtuple_kind), kind, list(value)
    return None


# user-defined containers: class -> (flatten, unflatten)
REGISTERED: dict[Any, tuple[Any, Any]] = {}


class namedtuple_kind:
    """The container kind of all named tuples."""


namedtuple_kind.__name__ = "namedtuple"


def flatten(value: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of a nested value, left to right, and its structure."""
    found = parts(value)
    if found is None:
        return [value], LEAF
    kind, context, children = found
    leaves: list[Any] = []
    specs = []
    for child in children:
        below, spec = flatten(child)
        leaves.extend(below)
        specs.append(spec)
    return leaves, TreeSpec(kind, context, specs)


def unflatten(leaves: Any, spec: TreeSpec) -> Any:
    """The nested value with this structure and these leaves."""
    return build(iter(leaves), spec)


def build(leaves: Any, spec: TreeSpec) -> Any:
    if spec.kind is None:
        return next(leaves)
    children = [build(leaves, child) for child in spec.children]
    if spec.kind is tuple and spec.context is None or spec.kind is list:
        return spec.kind(children)
    if spec.kind in REGISTERED:
        return REGISTERED[spec.kind][1](children, spec.context)
    if spec.kind is defaultdict:
        return defaultdict(spec.context[0], zip(spec.context[1], children, strict=True))
    if spec.kind is dict or spec.kind is OrderedDict:
        return spec.kind(zip(spec.context, children, strict=True))
    return spec.context(*children)


def broadcast_and_flatten(value: Any, spec: TreeSpec) -> list[Any] | None:
    """The leaves of `value` repeated to fit `spec`, whose structure `value` must be a prefix of; None if it is not."""
    if spec.kind is None:
        return [value] if parts(value) is None else None
    found = parts(value)
    if found is None:
        return [value] * spec.num_leaves
    kind, context, children = found
    if kind is not spec.kind or context != spec.context or len(children) != len(spec.children):
        return None
    leaves: list[Any] = []
    for child, below in zip(children, spec.children, strict=True):
        part = broadcast_and_flatten(child, below)
        if part is None:
            return None
        leaves.extend(part)
    return leaves


def map_leaves(function: Any, value: Any) -> Any:
    """The same structure with `function` applied to every leaf."""
    leaves, spec = flatten(value)
    return unflatten([function(leaf) for leaf in leaves], spec)
