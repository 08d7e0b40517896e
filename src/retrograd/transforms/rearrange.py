"""`rearrange`: permute, split and join the dimensions of a tensor, by a pattern of names."""
from __future__ import annotations

import keyword
import math
import warnings
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops import late

__all__ = ["rearrange"]

ELLIPSIS, JOINED = "…", "⋯"    # "..." as one character: outside and inside parentheses


class DimensionBindError(Exception):
    """The sizes of a tensor do not fit the pattern."""


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """The tensor with the dimensions named on the left side of `pattern` in the order of the right side. Names in
    parentheses form one dimension; `...` is all unnamed dimensions, 1 or () a dimension of size 1. The sizes for splitting
    a dimension are given by name. A list of tensors is stacked first.

    >>> import retrograd as torch
    >>> rearrange(torch.arange(6), "(rows columns) -> columns rows", rows=2)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    if not isinstance(tensor, Tensor):
        tensor = late.stack(tensor)
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = [parsed(side) for side in pattern.split("->")]
    check_sides(left, right, pattern, axes_lengths)
    shape = tensor.array.shape
    extra = len(shape) - len(left) + 1 if [ELLIPSIS] in left else 0
    if extra < 0 or not extra and [ELLIPSIS] not in left and len(left) != len(shape):
        raise ValueError(f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the "
                         f"tensor ({len(shape)})")
    left, right = [unfolded(side, extra) for side in (left, right)]
    sizes: dict[str, int] = {}
    names = [name for group in left for name in group]
    for group, size in zip(left, shape, strict=True):
        bind(group, size, axes_lengths, sizes, {name: f"d{i}" for i, name in enumerate(names)})
    order = [names.index(name) for group in right for name in group]
    split = tensor if all([len(group) == 1 for group in left]) else tensor.reshape([sizes[name] for name in names])
    return split.permute(order).reshape([math.prod([sizes[name] for name in group]) for group in right])


def parsed(side: str) -> list[list[str]]:
    """Parse one side of a pattern into a list of names per dimension."""
    if "." in side:
        if "..." not in side:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
        if side.count("...") != 1 or side.count(".") != 3:
            raise ValueError("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
        side = side.replace("...", ELLIPSIS)
    found: list[list[str]] = []
    group: list[str] | None = None
    for word in side.replace("(", " ( ").replace(")", " ) ").replace(ELLIPSIS, f" {ELLIPSIS} ").split():
        if word == "(":
            if group is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            group = []
        elif word == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            found.append(group)
            group = None
        else:
            name = JOINED if word == ELLIPSIS and group is not None else checked_name(word)
            if name and any([name in other for other in [*found, group or []]]):
                raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
            if group is not None:
                group.extend([name] if name else [])
            else:
                found.append([name] if name else [])
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side.replace(ELLIPSIS, '...').rstrip()}'")
    return found


def checked_name(word: str) -> str:
    """The checked name of an axis; empty for size 1."""
    if word.isdecimal():
        if int(word) != 1:
            raise ValueError("rearrange only supports unnamed axes of size 1")
        return ""
    if word == ELLIPSIS:
        return word
    if not word.isidentifier():
        raise ValueError(f"Invalid axis identifier: {word}\nnot a valid python identifier")
    if word[0] == "_" or word[-1] == "_":
        raise ValueError(f"Invalid axis identifier: {word}\naxis name should should not start or end with underscore")
    if keyword.iskeyword(word):
        warnings.warn(f"It is discouraged to use axes names that are keywords: {word}", RuntimeWarning, stacklevel=4)
    return word


def check_sides(left: Any, right: Any, pattern: str, lengths: dict[str, int]) -> None:
    names, wanted = ({ELLIPSIS if name == JOINED else name for group in side for name in group} for side in (left, right))
    if ELLIPSIS in wanted - names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any([JOINED in group for group in left]):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    single = names ^ wanted
    if single:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {single}")
    unknown = set(lengths) - names
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def unfolded(side: list[list[str]], extra: int) -> list[list[str]]:
    """The ellipsis expanded to generated names."""
    many = [f"{ELLIPSIS}{i}" for i in range(extra)]
    made: list[list[str]] = []
    for group in side:
        if group == [ELLIPSIS]:
            made.extend([[name] for name in many])
        else:
            made.append([name for item in group for name in (many if item == JOINED else [item])])
    return made


def bind(group: list[str], size: int, lengths: dict[str, int], sizes: dict[str, int], numbers: dict[str, str]) -> None:
    """Determine the sizes of the axes that form one dimension: at most one of them is unknown."""
    open_names = [name for name in group if name not in lengths]
    if len(open_names) > 1:
        first, second = open_names[:2]
        raise DimensionBindError("cannot infer the sizes of two dimensions at once "
                                 f"{numbers[first]} and {numbers[second]}. Give the size of {first} or {second} by name.")
    known = math.prod([lengths[name] for name in group if name in lengths])
    if open_names:
        if known == 0 or size % known:
            raise DimensionBindError(f"inferred dimension does not evenly fit into larger dimension: {size} vs "
                                     f"{tuple([lengths.get(name, '?') for name in group])}")
        sizes[open_names[0]] = size // known
    elif known != size:
        raise DimensionBindError(f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack "
                                 f"({', '.join([numbers[name] for name in group])}{',' * (len(group) == 1)})")
    sizes.update({name: lengths[name] for name in group if name in lengths})
