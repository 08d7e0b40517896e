"""Control flow written as the loops that it stands for, to compare with."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.utils import _pytree as pytree


def _fake_map(f: Callable[..., Any], x: Any, *args: Any) -> Any:
    """`map` as a loop over the slices along the first dimension.

    >>> _fake_map(lambda x: x * 2, torch.arange(3))
    tensor([0, 2, 4])
    """
    leaves, structure = pytree.tree_flatten(x)
    rows = [f(pytree.tree_unflatten([leaf[i] for leaf in leaves], structure), *args) for i in range(leaves[0].shape[0])]
    return stacked(rows, 0)


def _fake_scan(combine_fn: Callable[[Any, Any], Any], init: Any, xs: Any = None, dim: int = 0, reverse: bool = False) -> Any:
    """`scan` as a loop.

    >>> _fake_scan(lambda carry, x: (carry + x, carry), torch.tensor(0), torch.arange(4))
    (tensor(6), tensor([0, 0, 1, 3]))
    """
    leaves, structure = pytree.tree_flatten(xs)
    if not leaves:
        return init, []
    order = range(leaves[0].shape[dim])
    carry, rows = init, []
    for i in reversed(order) if reverse else order:
        carry, row = combine_fn(carry, pytree.tree_unflatten([leaf.select(dim, i) for leaf in leaves], structure))
        rows.append(row)
    return carry, stacked(rows[::-1] if reverse else rows, dim)


def _fake_associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False) -> Any:
    """`associative_scan` as a loop.

    >>> _fake_associative_scan(lambda a, b: a + b, torch.arange(5), 0)
    tensor([ 0,  1,  3,  6, 10])
    """
    leaves, structure = pytree.tree_flatten(xs)
    order = range(leaves[0].shape[dim])
    rows: list[Any] = []
    for i in reversed(order) if reverse else order:
        here = pytree.tree_unflatten([leaf.select(dim, i) for leaf in leaves], structure)
        rows.append(combine_fn(rows[-1], here) if rows else here)
    return stacked(rows[::-1] if reverse else rows, dim)


def stacked(rows: list[Any], dim: int) -> Any:
    """Trees of tensors, stacked leaf by leaf."""
    structure = pytree.tree_structure(rows[0])
    columns = zip(*[pytree.tree_leaves(row) for row in rows], strict=True)
    return pytree.tree_unflatten([torch.stack(column, dim) for column in columns], structure)
