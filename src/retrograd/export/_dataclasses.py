"""Dataclasses as inputs and results of exported programs."""
from __future__ import annotations

import dataclasses
from typing import Any

from retrograd.utils import _pytree as pytree


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Make a dataclass a container of what its fields hold; fields that are None are not among it.

    >>> import dataclasses, retrograd as torch
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: object
    ...     y: object = None
    >>> register_dataclass(Point)
    >>> pytree.tree_map(lambda n: n + 1, Point(1))
    Point(x=2, y=None)
    """
    if not dataclasses.is_dataclass(cls):
        raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
                         "dataclass.")
    names = [field.name for field in dataclasses.fields(cls) if field.init]

    def flatten(value: Any) -> tuple[list[Any], Any]:
        present = [name for name in names if getattr(value, name) is not None]
        return [getattr(value, name) for name in present], [present, [name for name in names if name not in present]]

    def flatten_with_keys(value: Any) -> tuple[list[Any], Any]:
        children, context = flatten(value)
        return [(pytree.GetAttrKey(name), child) for name, child in zip(context[0], children, strict=True)], context

    def unflatten(children: Any, context: Any) -> Any:
        return cls(**dict(zip(context[0], children, strict=True)), **dict.fromkeys(context[1]))
    pytree.register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name,
                                flatten_with_keys_fn=flatten_with_keys)
