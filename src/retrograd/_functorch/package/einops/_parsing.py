"""Patterns of dimensions such as "b (h w) c -> b h w c", read and checked."""
from __future__ import annotations

import keyword
import warnings
from collections.abc import Collection, Mapping
from typing import Any

_ellipsis = "\u2026"


class AnonymousAxis:
    """A dimension of a pattern that is given by its size; each is its own.

    >>> str(AnonymousAxis("2"))
    '2-axis'
    """

    def __init__(self, value: str) -> None:
        self.value = int(value)
        if self.value < 1:
            raise ValueError(f"Anonymous axis should have positive length, not {self.value}")

    def __repr__(self) -> str:
        return f"{self.value}-axis"


class ParsedExpression:
    """One side of a pattern: its names, and which of them make up each dimension.

    >>> ParsedExpression("b (h w) ...").composition == [["b"], ["h", "w"], "\u2026"]
    True
    """

    def __init__(self, expression: str, *, allow_underscore: bool = False, allow_duplicates: bool = False) -> None:
        self.has_ellipsis = False
        self.has_ellipsis_parenthesized: bool | None = None
        self.has_non_unitary_anonymous_axes = False
        self.identifiers: set[Any] = set()
        self.composition: list[Any] = []
        self.allow_underscore, self.allow_duplicates = allow_underscore, allow_duplicates
        if "." in expression:
            if "..." not in expression:
                raise ValueError("Expression may contain dots only inside ellipsis (...)")
            if expression.count("...") != 1 or expression.count(".") != 3:
                raise ValueError("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
            expression = expression.replace("...", _ellipsis)
            self.has_ellipsis = True
        self.read(expression)

    def read(self, expression: str) -> None:
        group: list[Any] | None = None
        word = ""
        for char in [*expression, " "]:
            if char in "() " and word:
                self.add(word, group)
                word = ""
            if char == "(":
                if group is not None:
                    raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
                group = []
            elif char == ")":
                if group is None:
                    raise ValueError("Brackets are not balanced")
                self.composition.append(group)
                group = None
            elif char.isalnum() or char in ("_", _ellipsis):
                word += char
            elif char != " ":
                raise ValueError(f"Unknown character '{char}'")
        if group is not None:
            raise ValueError(f"Imbalanced parentheses in expression: '{expression}'")

    def add(self, word: str, group: list[Any] | None) -> None:
        """Take a name, the ellipsis or a size, into a group in brackets or as a dimension of its own."""
        if word in self.identifiers and not (self.allow_underscore and word == "_") and not self.allow_duplicates:
            raise ValueError(f"Indexing expression contains duplicate dimension '{word}'")
        if word == _ellipsis:
            self.identifiers.add(word)
            self.has_ellipsis_parenthesized = group is not None
            (self.composition if group is None else group).append(word)
            return
        if word.isdecimal() and int(word) == 1:
            if group is None:
                self.composition.append([])
            return
        found: Any = word
        if word.isdecimal():
            found = AnonymousAxis(word)
            self.has_non_unitary_anonymous_axes = True
        else:
            fits, reason = self.check_axis_name_return_reason(word, allow_underscore=self.allow_underscore)
            if not fits:
                raise ValueError(f"Invalid axis identifier: {word} {reason}")
        self.identifiers.add(found)
        if group is None:
            self.composition.append([found])
        else:
            group.append(found)

    @staticmethod
    def check_axis_name_return_reason(name: str, allow_underscore: bool = False) -> tuple[bool, str]:
        """Whether a name may name a dimension, and why not."""
        if not str.isidentifier(name):
            return False, "not a valid python identifier"
        if name[0] == "_" or name[-1] == "_":
            if name == "_" and allow_underscore:
                return True, ""
            return False, "axis name should should not start or end with underscore"
        if keyword.iskeyword(name):
            warnings.warn(f"It is discouraged to use axes names that are keywords: {name}", RuntimeWarning, stacklevel=2)
        if name == "axis":
            warnings.warn("It is discouraged to use 'axis' as an axis name and will raise an error in future", FutureWarning,
                          stacklevel=2)
        return True, ""

    @staticmethod
    def check_axis_name(name: str) -> bool:
        """Whether a name may name a dimension."""
        return ParsedExpression.check_axis_name_return_reason(name)[0]


def parse_pattern(pattern: str, axes_lengths: Mapping[str, int]) -> tuple[ParsedExpression, ParsedExpression]:
    """Both sides of a pattern.

    >>> left, right = parse_pattern("a b -> (b a)", {})
    >>> right.composition
    [['b', 'a']]
    """
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = (ParsedExpression(side) for side in sides)
    if not left.has_ellipsis and right.has_ellipsis:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.has_ellipsis_parenthesized:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    return left, right


def validate_rearrange_expressions(left: ParsedExpression, right: ParsedExpression, axes_lengths: Mapping[str, int]) -> None:
    """Refuse patterns that lose or invent dimensions, and lengths of dimensions that they do not have."""
    for length in axes_lengths.values():
        if (kind := type(length)) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {kind}")
    if left.has_non_unitary_anonymous_axes or right.has_non_unitary_anonymous_axes:
        raise ValueError("rearrange only supports unnamed axes of size 1")
    uneven = left.identifiers ^ right.identifiers
    if uneven:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {uneven}")
    unknown = axes_lengths.keys() - left.identifiers
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def comma_separate(collection: Collection[str | Collection[str]]) -> str:
    """Names and groups of names as Python writes them.

    >>> comma_separate([("a", "b"), ("c",), "d", ()])
    '(a, b), (c,), d, ()'
    """
    return ", ".join([item if isinstance(item, str) else f"({comma_separate(item)}{',' if len(item) == 1 else ''})"
                      for item in collection])
