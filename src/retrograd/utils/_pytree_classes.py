"""Dataclasses as containers, and objects that belong to the structure of a tree instead of its leaves."""
from __future__ import annotations

import dataclasses
from typing import Any

from retrograd.utils._pytree import SUPPORTED_NODES, GetAttrKey, register_pytree_node

__all__ = ["ConstantNode", "is_constant_class", "register_constant", "register_dataclass"]


def register_dataclass(cls: Any, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Make a class with fields a container of what its fields hold.

    >>> import dataclasses
    >>> from retrograd.utils._pytree import tree_leaves
    >>> @dataclasses.dataclass
    ... class Pair:
    ...     a: int
    ...     b: int
    >>> register_dataclass(Pair)
    >>> tree_leaves(Pair(1, 2))
    [1, 2]
    """
    dropped = drop_field_names or []
    if dataclasses.is_dataclass(cls):
        own = [field.name for field in dataclasses.fields(cls) if field.init]
        if field_names is None:
            field_names = [name for name in own if name not in dropped]
        else:
            check_fields(cls, field_names, dropped, own)
    elif field_names is None:
        raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
                         "dataclass.")
    names = list(field_names)

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        present = [name for name in names if getattr(obj, name) is not None]
        absent = [name for name in names if getattr(obj, name) is None]
        return [getattr(obj, name) for name in present], [present, absent]

    def unflatten(values: Any, context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    def with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        values, context = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values, strict=True)], context

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=with_keys)


def check_fields(cls: Any, field_names: list[str], dropped: list[str], own: list[str]) -> None:
    """Refuse fields that the dataclass does not have, and dataclasses with fields that nothing is said of."""
    unknown = set(field_names) - set(own)
    missing = set(own) - set(field_names) - set(dropped)
    text = ""
    if missing:
        text += (f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, please add "
                 "them to `field_names`, otherwise please add them to `drop_field_names`.\n")
    if unknown:
        text += f"Fields in `field_names` that are not fields of {cls}: {unknown}.\n"
    if text:
        raise ValueError("field_names does not include all dataclass fields.\n" + text)


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a constant: the constant itself.

    >>> ConstantNode(1)
    ConstantNode(value=1)
    """

    value: Any


def register_constant(cls: type) -> None:
    """Make objects of a class parts of the structure of a tree: two trees with different ones differ in structure.

    >>> from retrograd.utils._pytree import tree_structure
    >>> class Mode(str):
    ...     pass
    >>> register_constant(Mode)
    >>> tree_structure(Mode("a")) == tree_structure(Mode("b"))
    False
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None or cls.__hash__ is object.__hash__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    register_pytree_node(cls, lambda obj: ([], ConstantNode(obj)), lambda values, context: context.value,
                         flatten_with_keys_fn=lambda obj: ([], ConstantNode(obj)))
    CONSTANTS.add(cls)


CONSTANTS: set[type] = set()


def is_constant_class(cls: type) -> bool:
    """Whether objects of a class belong to the structure of a tree.

    >>> is_constant_class(int)
    False
    """
    return isinstance(cls, type) and cls in CONSTANTS and cls in SUPPORTED_NODES
