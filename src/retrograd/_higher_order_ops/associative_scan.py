"""Scans by an associative function, in a logarithmic number of rounds."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd._higher_order_ops.operators import associative_scan_op, needs_gradient
from retrograd.fx.experimental.proxy_tensor import get_proxy_mode
from retrograd.utils import _pytree as pytree

__all__ = ["associative_scan"]


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
                     combine_mode: str = "pointwise") -> Any:
    """Combine all elements before and at each place along `dim`; `xs` may be a tree of tensors.

    >>> associative_scan(lambda a, b: a + b, torch.arange(5), 0)
    tensor([ 0,  1,  3,  6, 10])
    >>> associative_scan(lambda a, b: a * b, torch.tensor([1.0, 2.0, 3.0]), 0, reverse=True)
    tensor([6., 6., 3.])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, structure = pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise ValueError("Expected all xs leaves to be tensors, and at least one")
    rank = leaves[0].dim()
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    dim = dim % leaves[0].dim()
    length = leaves[0].shape[dim]
    if any(leaf.dim() <= dim or leaf.shape[dim] != length for leaf in leaves):
        raise ValueError(f"All xs leaves must have the same length along dim {dim}, but got "
                         f"{[tuple(leaf.shape) for leaf in leaves]}")
    if length == 0:
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        made = combine_fn(pytree.tree_unflatten(a, structure), pytree.tree_unflatten(b, structure))
        flat = pytree.tree_leaves(made)
        if len(flat) != len(a):
            raise AssertionError(f"Combine_fn received wrong number of arguments, expected {2 * len(a)}, but got "
                                 f"{len(a) + len(flat)}")
        return flat

    if get_proxy_mode() is not None and not needs_gradient(leaves):
        rows = [leaf.movedim(dim, 0) for leaf in leaves]
        rows = [row.flip([0]) for row in rows] if reverse else rows
        made = associative_scan_op(lambda *values: combine(list(values[:len(rows)]), list(values[len(rows):])), rows, ())
        return pytree.tree_unflatten([(row.flip([0]) if reverse else row).movedim(0, dim) for row in made], structure)
    if combine_mode == "generic":       # the function sees one element at a time
        combine = torch.vmap(combine, in_dims=dim, out_dims=dim)
    ordered = [leaf.flip([dim]) if reverse else leaf for leaf in leaves]
    scanned = scan(combine, ordered, dim)
    return pytree.tree_unflatten([leaf.flip([dim]) if reverse else leaf for leaf in scanned], structure)


def scan(combine: Callable[[list[Any], list[Any]], list[Any]], leaves: list[Any], dim: int) -> list[Any]:
    """Scan pairs of neighbours; odd places come from there, even ones by one more step."""
    length = leaves[0].shape[dim]
    if length < 2:
        return leaves
    odd = scan(combine, combine(part(leaves, dim, 0, length - 1, 2), part(leaves, dim, 1, length, 2)), dim)
    first = part(leaves, dim, 0, 1, 1)
    if length == 2:
        return [torch.cat(pair, dim) for pair in zip(first, odd, strict=True)]
    before = part(odd, dim, 0, (length - 1) // 2, 1)
    even = combine(before, part(leaves, dim, 2, length, 2))
    return [interleave(torch.cat([a, b], dim), c, dim) for a, b, c in zip(first, even, odd, strict=True)]


def part(leaves: list[Any], dim: int, start: int, stop: int, step: int) -> list[Any]:
    index = (slice(None),) * dim + (slice(start, stop, step),)
    return [leaf[index] for leaf in leaves]


def interleave(even: Any, odd: Any, dim: int) -> Any:
    """The elements of two tensors by turns, the first from `even`, which may be one longer."""
    shorter = odd.shape[dim]
    both = torch.stack([part([even], dim, 0, shorter, 1)[0], odd], dim + 1).flatten(dim, dim + 1)
    if even.shape[dim] == shorter:
        return both
    return torch.cat([both, part([even], dim, shorter, shorter + 1, 1)[0]], dim)
