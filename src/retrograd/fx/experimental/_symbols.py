"""Integers of a graph that depend on the sizes of its inputs, found by tracing with other sizes.

NOTE [Finding symbols]
A program is traced three times, with other values for the sizes that may change. The traces must have the same ops; an
integer that differs between them is a function of the sizes, and is written as one: a size or a product of sizes, times
a number, plus a number, or divided by one. If no such function gives all three values, the graph cannot be made.
"""
from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

from retrograd.core.opdef import find_packet
from retrograd.fx.graph import Graph
from retrograd.fx.node import Node


class SymbolError(RuntimeError):
    """What a program does depends on sizes in a way that a graph cannot say."""


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


def put_symbols(graphs: list[Graph], sizes: list[tuple[int, ...]], sources: list[Any]) -> None:
    """Write the integers of the first graph that differ in the others as functions of sizes.

    `sizes` has the values of the symbols in each trace, `sources` the input and the dimension that each symbol is, and how it
    depends on the symbol if it is another number (see `SymbolWriter.symbol`).
    """
    writer = SymbolWriter(graphs[0], sizes, sources)
    rows = list(itertools.zip_longest(*[list(graph.nodes) for graph in graphs]))
    for nodes in rows:
        if any([node is None or node.op != nodes[0].op or node.target != nodes[0].target for node in nodes]):
            raise SymbolError("the ops depend on the sizes: they are not the same for other ones")
    for nodes in rows:
        if nodes[0].op in ("call_function", "output"):
            nodes[0].args = writer.merged([node.args for node in nodes], nodes[0])
            nodes[0].kwargs = writer.merged([node.kwargs for node in nodes], nodes[0])
    graphs[0].lint()


class SymbolWriter:
    """Writes integers as functions of sizes."""

    def __init__(self, graph: Graph, sizes: list[tuple[int, ...]], sources: list[Any]) -> None:
        self.graph, self.sizes, self.sources = graph, sizes, sources
        self.made: dict[Any, Node] = {}

    def merged(self, values: list[Any], node: Node) -> Any:
        """One argument out of those of all traces."""
        first = values[0]
        if isinstance(first, tuple | list):
            if any([len(value) != len(first) for value in values]):
                raise SymbolError(f"{node.name}: the number of arguments depends on the sizes")
            items = [self.merged(list(parts), node) for parts in zip(*values, strict=True)]
            return tuple(items) if isinstance(first, tuple) else items
        if isinstance(first, dict):
            return {key: self.merged([value[key] for value in values], node) for key in first}
        if type(first) is int and any([value != first for value in values]):
            expression = find_expression(tuple(values), self.sizes)
            if expression is None:
                raise SymbolError(f"{node.name}: an argument is {values} for the sizes {self.sizes}; how it depends on them is "
                                  "not seen")
            return self.written(expression)
        return first

    def written(self, expression: Expression) -> Node:
        if expression not in self.made:
            anchor = [node for node in self.graph.nodes if node.op == "placeholder"][-1]
            after = max([anchor, *self.made.values()])
            with self.graph.inserting_before(after.next):
                self.made[expression] = self.computed(expression)
        return self.made[expression]

    def symbol(self, source: Node, dim: int, factor: int = 1, offset: int = 0) -> Node:
        """A symbol, computed from the size of an input that is `factor` times it plus `offset`."""
        node = self.graph.call_function(sym_size(), (source, dim), name="sym_size_int")
        if offset:
            node = self.graph.call_function(operator.add, (node, -offset))
        return node if factor == 1 else self.graph.call_function(operator.floordiv, (node, factor))

    def computed(self, expression: Expression) -> Node:
        node: Any = None
        for i in expression.symbols:
            if ("size", i) not in self.made:
                self.made[("size", i)] = self.symbol(*self.sources[i])
            size = self.made[("size", i)]
            node = size if node is None else self.graph.call_function(operator.mul, (node, size))
        if expression.factor != 1:
            node = self.graph.call_function(operator.mul, (node, expression.factor))
        if expression.divisor != 1:
            node = self.graph.call_function(operator.floordiv, (node, expression.divisor))
        if expression.offset:
            node = self.graph.call_function(operator.add, (node, expression.offset))
        return node


def sym_size() -> Any:
    """The op that gives the size of a tensor in one dimension."""
    return find_packet("sym_size").int            # type: ignore[union-attr]
