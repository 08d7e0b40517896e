"""rearrange: dimensions split, put into another order and joined, by a pattern."""
from __future__ import annotations

from math import prod
from typing import Any

import retrograd as torch
from retrograd._functorch.package.einops._parsing import _ellipsis, parse_pattern, validate_rearrange_expressions

__all__ = ["rearrange"]


class DimensionBindError(Exception):
    """The sizes of a tensor do not fit a pattern."""


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """The tensor (or several, stacked) with its dimensions rearranged; sizes that the pattern leaves open are given by name.

    >>> rearrange(torch.arange(6).view(2, 3), "a b -> b a").tolist()
    [[0, 3], [1, 4], [2, 5]]
    >>> rearrange(torch.ones(4, 6), "(h w) c -> c h w", h=2).shape
    torch.Size([6, 2, 2])
    """
    if not isinstance(tensor, torch.Tensor):
        tensor = torch.stack(tensor)
    left, right = parse_pattern(pattern, axes_lengths)
    validate_rearrange_expressions(left, right, axes_lengths)
    named = len(left.composition) - left.has_ellipsis
    if left.has_ellipsis and named > tensor.dim():
        raise ValueError(f"Number of dimensions in pattern ({named}) must be less than or equal to the number of dimensions in "
                         f"the tensor ({tensor.dim()})")
    if not left.has_ellipsis and named != tensor.dim():
        raise ValueError(f"Number of dimensions in pattern ({named}) must be equal to the number of dimensions in the tensor "
                         f"({tensor.dim()})")
    rest = [f"{_ellipsis}{i}" for i in range(tensor.dim() - named)]
    groups: list[list[Any]] = []
    for group in left.composition:
        groups.extend([[name] for name in rest] if group == _ellipsis else [group])
    sizes = dict(axes_lengths)
    for group, size in zip(groups, tensor.shape, strict=True):
        bind(group, size, sizes)
    order = [name for group in groups for name in group]
    wanted: list[list[Any]] = []
    for group in right.composition:
        if group == _ellipsis:
            wanted.extend([name] for name in rest)
        else:
            wanted.append([name for part in group for name in (rest if part == _ellipsis else [part])])
    split = tensor.reshape([sizes[name] for name in order])
    permuted = split.permute([order.index(name) for group in wanted for name in group])
    return permuted.reshape([prod([sizes[name] for name in group]) for group in wanted])


def bind(group: list[Any], size: int, sizes: dict[Any, int]) -> None:
    """Find the size of each name of a group that makes up a dimension; one of them may be open."""
    unknown = [name for name in group if name not in sizes]
    if len(unknown) > 1:
        raise DimensionBindError(f"cannot infer the sizes of two dimensions at once {unknown[0]} and {unknown[1]}")
    known = prod([sizes[name] for name in group if name in sizes])
    if unknown:
        if known == 0 or size % known:
            shown = tuple([sizes.get(name, "?") for name in group])
            raise DimensionBindError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {shown}")
        sizes[unknown[0]] = size // known
    elif known != size:
        raise DimensionBindError(f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack "
                                 f"({', '.join(map(str, group))}{',' if len(group) == 1 else ''})")
