"""Sizes that may differ from those of the example: their names, and how they are found in a program.

NOTE [Finding symbols]
A program is traced three times, with other values for the sizes that may change. The traces must have the same ops; an
integer that differs between them is a function of the sizes, and is written as one: a size or a product of sizes, times
a number, plus a number, or divided by one. If no such function gives all three values, the program cannot be exported.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator
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


class Expression(NamedTuple):
    """The product of some symbols, times `factor`, divided by `divisor`, plus `offset`."""

    symbols: tuple[int, ...]
    factor: int
    divisor: int
    offset: int

    def value(self, sizes: tuple[int, ...]) -> int:
        product = self.factor
        for i in self.symbols:
            product *= sizes[i]
        return product // self.divisor + self.offset


def find_expression(values: tuple[int, ...], sizes: list[tuple[int, ...]]) -> Expression | None:
    """How an integer that was `values` in the traces depends on the sizes that these had."""
    for candidate in candidates(values, sizes):
        if all([candidate.value(s) == v for s, v in zip(sizes, values, strict=True)]):
            return candidate
    return None


def candidates(values: tuple[int, ...], sizes: list[tuple[int, ...]]) -> Iterator[Expression]:
    count = len(sizes[0])
    groups = [group for n in (1, 2, 3) for group in itertools.combinations_with_replacement(range(count), n)]
    for group in groups:
        first, second = [Expression(group, 1, 1, 0).value(s) for s in sizes[:2]]
        change, steps = values[1] - values[0], second - first
        if steps and change % steps == 0:
            factor = change // steps
            yield Expression(group, factor, 1, values[0] - factor * first)
        for divisor in range(2, 9):
            for offset in (0, 1):
                yield Expression(group, 1, divisor, offset)
