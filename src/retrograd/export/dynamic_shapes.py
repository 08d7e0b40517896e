"""Sizes that may differ from those of the example, and their names; fx/experimental/_symbols.py finds them in graphs."""
from __future__ import annotations

from typing import Any, NamedTuple


class Dim:
    """The name of a size that may change, with its bounds.

    >>> Dim("batch", max=8)
    Dim('batch', min=0, max=8)
    """

    AUTO: Any = None
    DYNAMIC: Any = None
    STATIC: Any = None

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, 0 if min is None else min, max
        if self.max is not None and self.max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


class Hint:
    """AUTO, DYNAMIC or STATIC in the place of a name."""

    def __init__(self, name: str) -> None:
        self.name = name


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = Hint("AUTO"), Hint("DYNAMIC"), Hint("STATIC")


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several names at once.

    >>> [d.__name__ for d in dims("h", "w")]
    ['h', 'w']
    """
    return tuple([Dim(name, min=min, max=max) for name in names])


class Symbol(NamedTuple):
    """A size that may change: dimension `dim` of user input `input` (and of others that share its name)."""

    name: str
    input: int
    dim: int
    value: int
    min: int
    max: int | None


def symbols_of(specs: list[Any], inputs: list[Any]) -> tuple[list[Symbol], dict[tuple[int, int], int]]:
    """The symbols that `dynamic_shapes` names, and which of them each (input, dimension) is."""
    found: list[Symbol] = []
    places: dict[tuple[int, int], int] = {}
    for number, (spec, tensor) in enumerate(zip(specs, inputs, strict=True)):
        entries = spec.items() if isinstance(spec, dict) else enumerate(spec) if isinstance(spec, list | tuple) else ()
        for dim, entry in entries:
            if entry is None or entry is Dim.STATIC or isinstance(entry, int):
                continue
            name = entry.__name__ if isinstance(entry, Dim) else f"s{len(found)}"
            known = next((i for i, symbol in enumerate(found) if symbol.name == name), None)
            if known is None:
                known = len(found)
                low, high = (entry.min, entry.max) if isinstance(entry, Dim) else (0, None)
                found.append(Symbol(name, number, dim, tensor.shape[dim], low, high))
            elif found[known].value != tensor.shape[dim]:
                raise ValueError(f"Constraints violated ({name})! inputs disagree on it: {found[known].value} and "
                                 f"{tensor.shape[dim]}")
            places[(number, dim)] = known
    return found, places
