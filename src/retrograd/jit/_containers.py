"""Lists and dicts of one element type, which compiled code shares with Python in PyTorch."""
from __future__ import annotations

from collections.abc import Iterable, MutableMapping, MutableSequence
from typing import Any


class ScriptList(MutableSequence[Any]):
    """A list whose elements are all of one type.

    >>> items = ScriptList([1, 2])
    >>> items.append(3)
    >>> print(items, len(items))
    [1, 2, 3] 3
    """

    def __init__(self, items: list[Any], /) -> None:
        if not isinstance(items, list):
            raise TypeError("__init__(): incompatible constructor arguments. ScriptList takes a list, "
                            f"not {type(items).__name__}")
        self.kind = one_kind(items, "list elements")
        self.items = list(items)

    def __getitem__(self, index: Any) -> Any:
        found = self.items[index]
        return ScriptList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        for item in value if isinstance(index, slice) else [value]:
            self.check(item)
        self.items[index] = value

    def __delitem__(self, index: Any) -> None:
        del self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def insert(self, index: int, value: Any) -> None:
        self.check(value)
        self.items.insert(index, value)

    def extend(self, values: Iterable[Any]) -> None:
        found = list(values)
        for value in found:
            self.check(value)
        self.items.extend(found)

    def check(self, value: Any) -> None:
        self.kind = same_kind(self.kind, value, "list elements")

    def __eq__(self, other: object) -> bool:
        return self.items == (other.items if isinstance(other, ScriptList) else other)

    __hash__ = None     # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return ScriptList, (self.items,)

    def __repr__(self) -> str:
        return "[" + ", ".join(map(str, self.items)) + "]"


class ScriptDict(MutableMapping[Any, Any]):
    """A dict whose keys are of one type and whose values are of one type.

    >>> table = ScriptDict({"a": 1})
    >>> table["b"] = 2
    >>> print(table)
    {a: 1, b: 2}
    """

    def __init__(self, items: dict[Any, Any], /) -> None:
        if not isinstance(items, dict):
            raise TypeError("__init__(): incompatible constructor arguments. ScriptDict takes a dict, "
                            f"not {type(items).__name__}")
        self.key_kind = one_kind(items, "dict keys")
        self.kind = one_kind(items.values(), "dict values")
        self.table = dict(items)

    def __getitem__(self, key: Any) -> Any:
        return self.table[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.key_kind = same_kind(self.key_kind, key, "dict keys")
        self.kind = same_kind(self.kind, value, "dict values")
        self.table[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.table[key]

    def __iter__(self) -> Any:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def __reduce__(self) -> Any:
        return ScriptDict, (self.table,)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key}: {value}" for key, value in self.table.items()) + "}"


def one_kind(items: Iterable[Any], what: str) -> type | None:
    kind: type | None = None
    for item in items:
        kind = same_kind(kind, item, what)
    return kind


def same_kind(kind: type | None, item: Any, what: str) -> type:
    """The type of all items so far, which `item` has as well."""
    if kind is not None and not isinstance(item, kind):
        raise TypeError(f"{what} must be of one type: found {type(item).__name__} beside {kind.__name__}")
    return type(item) if kind is None else kind
