"""Control flow by functions: `cond`, `while_loop`, `map` and `scan`, carried out as Python would.

Everything in the functions is recorded as it runs, so that gradients and transforms need nothing special. Only a predicate
that differs from example to example of a vmap has to run both branches.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd._functorch.levels import is_batchedtensor
from retrograd.utils import _pytree as pytree

__all__ = ["cond", "map", "scan", "while_loop"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """The result of one of two functions; under vmap, of the one that each example chooses.

    >>> x = torch.tensor([1.0, 2.0])
    >>> cond(x.sum() > 2, lambda t: t * 2, lambda t: -t, (x,))
    tensor([2., 4.])
    """
    if not isinstance(pred, (bool, int, torch.Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor):
        if pred.numel() != 1:
            raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
        if is_batchedtensor(pred):
            return choose(pred, true_fn(*operands), false_fn(*operands))
        pred = bool(pred)
    return (true_fn if pred else false_fn)(*operands)


def choose(pred: Any, yes: Any, no: Any) -> Any:
    """The results of both branches, chosen from example by example."""
    (left, structure), (right, other) = pytree.tree_flatten(yes), pytree.tree_flatten(no)
    if structure != other:
        raise RuntimeError(f"Unmatched output spec from torch.cond branches: true branch tree_spec {structure} vs false branch "
                           f"tree_spec {other}.")
    return pytree.tree_unflatten([torch.where(pred.reshape(()), a, b) for a, b in zip(left, right, strict=True)], structure)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Call `body_fn` on what it returned before, for as long as `cond_fn` is true of it.

    >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.tensor(1.0)))
    (tensor(3), tensor(8.))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list, got {type(carried_inputs)}")
    carried = tuple(carried_inputs)
    while True:
        pred = cond_fn(*carried)
        if isinstance(pred, torch.Tensor) and pred.numel() != 1 or not isinstance(pred, (bool, torch.Tensor)):
            raise RuntimeError("cond_fn must return a boolean scalar tensor or a boolean but got "
                               f"{type(pred)}" + (f" of shape {tuple(pred.shape)}" if isinstance(pred, torch.Tensor) else ""))
        if not bool(pred):
            return carried
        made = body_fn(*carried)
        if not isinstance(made, (tuple, list)) or len(made) != len(carried):
            raise RuntimeError(f"body_fn must return as many values as it was given, {len(carried)}, but returned {made}")
        carried = tuple(made)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """The results of `f` on one slice of `xs` (a tree of tensors) after the other, put together.

    >>> map(lambda x, y: x + y, torch.arange(4).view(2, 2), torch.tensor([10, 20]))
    tensor([[10, 21],
            [12, 23]])
    """
    leaves, structure = pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    lengths = [leaf.shape[0] if leaf.dim() else 0 for leaf in leaves]
    if 0 in lengths:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if len(set(lengths)) > 1:
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {[leaf.shape for leaf in leaves]}.")
    return gathered([f(pytree.tree_unflatten([leaf[i] for leaf in leaves], structure), *args) for i in range(lengths[0])], 0)


def gathered(results: list[Any], dim: int) -> Any:
    """Trees of tensors, stacked leaf by leaf."""
    structure = pytree.tree_structure(results[0])
    columns = zip(*[pytree.tree_leaves(result) for result in results], strict=True)
    return pytree.tree_unflatten([torch.stack(column, dim) for column in columns], structure)


def scan(combine_fn: Callable[[Any, Any], Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """Carry a value through the slices of `xs`: `combine_fn(carry, x)` gives the next carry and an output for that slice.

    >>> scan(lambda carry, x: (carry + x, carry), torch.tensor(0), torch.arange(4))
    (tensor(6), tensor([0, 0, 1, 3]))
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    leaves, structure = pytree.tree_flatten(xs)
    if not leaves:
        return init, []
    length = leaves[0].shape[dim]
    carry, outputs = init, []
    for i in reversed(range(length)) if reverse else range(length):
        carry, output = combine_fn(carry, pytree.tree_unflatten([leaf.select(dim, i) for leaf in leaves], structure))
        outputs.append(output)
    return carry, gathered(outputs[::-1] if reverse else outputs, dim)
