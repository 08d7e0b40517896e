"""OrderedSet: a set that keeps the order in which its elements came."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

__all__ = ["OrderedSet"]

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set whose elements come in the order in which they were added.

    >>> OrderedSet([3, 1, 3]) | [2]
    OrderedSet([3, 1, 2])
    """

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._dict: dict[T, None] = dict.fromkeys(iterable, None) if iterable is not None else {}

    # ---- what the other methods are made of
    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def add(self, elem: T) -> None:
        self._dict[elem] = None

    def discard(self, elem: T) -> None:
        self._dict.pop(elem, None)

    def clear(self) -> None:
        self._dict.clear()

    def pop(self) -> T:
        """Take out the element that came last."""
        if not self:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self) -> OrderedSet[T]:
        return type(self)(self)

    __hash__ = None     # type: ignore[assignment]

    # ---- with any iterables
    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        made = self.copy()
        made.update(*others)
        return made

    def update(self, *others: Iterable[T]) -> None:
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        made = self.copy()
        made.intersection_update(*others)
        return made

    def intersection_update(self, *others: Iterable[T]) -> None:
        for other in others:
            kept = dict.fromkeys(other)
            for elem in [elem for elem in self if elem not in kept]:
                self.discard(elem)

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        made = self.copy()
        made.difference_update(*others)
        return made

    def difference_update(self, *others: Iterable[T]) -> None:
        for other in others:
            for elem in list(other):
                self.discard(elem)

    def symmetric_difference(self, other: Iterable[T]) -> OrderedSet[T]:
        made = self.copy()
        made.symmetric_difference_update(other)
        return made

    def symmetric_difference_update(self, other: Iterable[T]) -> None:
        for elem in dict.fromkeys(other):
            if elem in self:
                self.discard(elem)
            else:
                self.add(elem)

    def issubset(self, other: Iterable[T]) -> bool:
        return self <= (other if isinstance(other, AbstractSet) else dict.fromkeys(other).keys())

    def issuperset(self, other: Iterable[T]) -> bool:
        return self >= (other if isinstance(other, AbstractSet) else dict.fromkeys(other).keys())

    # ---- operators
    def __or__(self, other: Iterable[Any]) -> OrderedSet[Any]:     # type: ignore[override]
        return self.union(other)

    def __and__(self, other: Iterable[Any]) -> OrderedSet[T]:     # type: ignore[override]
        return self.intersection(other)

    def __sub__(self, other: Iterable[Any]) -> OrderedSet[T]:     # type: ignore[override]
        return self.difference(other)

    def __xor__(self, other: Iterable[Any]) -> OrderedSet[Any]:     # type: ignore[override]
        return self.symmetric_difference(other)

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__     # type: ignore[assignment]

    def __ior__(self, other: Iterable[Any]) -> OrderedSet[T]:     # type: ignore[override, misc]
        self.update(other)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self))}])"

    def __getstate__(self) -> list[T]:
        return list(self)

    def __setstate__(self, state: list[T]) -> None:
        self._dict = dict.fromkeys(state)

    def __reduce__(self) -> Any:
        return type(self), (list(self),)
