"""Control flow by functions: `cond`, `while_loop`, `map` and `scan`, carried out as Python would.

Everything in the functions is recorded as it runs, so that gradients and transforms need nothing special. Only a predicate
that differs from example to example of a vmap has to run both branches. make_fx writes them down as one operator.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd._higher_order_ops.operators import (
    UncapturedHigherOrderOpError,
    cond_op,
    map_impl,
    scan_op,
    while_loop_op,
)
from retrograd.utils import _pytree as pytree

__all__ = ["cond", "map", "scan", "while_loop"]


class Flat:
    """A function of trees as one of leaves, which remembers the structure of what it returned."""

    def __init__(self, f: Callable[..., Any], structure: Any) -> None:
        self.f, self.structure = f, structure
        self.returned: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        made, returned = pytree.tree_flatten(self.f(*pytree.tree_unflatten(list(leaves), self.structure)))
        if self.returned is None:
            self.returned = returned
        return made


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """The result of one of two functions; under vmap, of the one that each example chooses.

    >>> x = torch.tensor([1.0, 2.0])
    >>> cond(x.sum() > 2, lambda t: t * 2, lambda t: -t, (x,))
    tensor([2., 4.])
    """
    if not isinstance(pred, (bool, int, torch.Tensor, torch.SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    leaves, structure = pytree.tree_flatten(operands)
    if not isinstance(operands, (tuple, list)) or not all([isinstance(t, (torch.Tensor, int, torch.SymInt)) for t in leaves]):
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor "
                           f"leaves, but got {operands}.")
    yes, no = Flat(true_fn, structure), Flat(false_fn, structure)
    made = cond_op(pred, yes, no, tuple(leaves))
    if yes.returned is not None and no.returned is not None and yes.returned != no.returned:
        raise RuntimeError("Unmatched output spec from torch.cond branches: true branch tree_spec "
                           f"{yes.returned} vs false branch tree_spec {no.returned}.")
    return pytree.tree_unflatten(list(made), yes.returned if yes.returned is not None else no.returned)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Call `body_fn` on what it returned before, for as long as `cond_fn` is true of it.

    >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.tensor(1.0)))
    (tensor(3), tensor(8.))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    leaves, structure = pytree.tree_flatten(carried_inputs)
    if not isinstance(carried_inputs, (tuple, list)) or not all(
            [isinstance(t, (torch.Tensor, int, float, torch.SymInt)) for t in leaves]):
        raise RuntimeError("Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only consists of "
                           f"tensor or int leaves, but got {carried_inputs}.")

    def test(*values: Any) -> Any:
        return cond_fn(*pytree.tree_unflatten(list(values), structure))

    body = Flat(body_fn, structure)
    made = while_loop_op(test, body, tuple(leaves), ())
    return pytree.tree_unflatten(list(made), structure)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """The results of `f` on one slice of `xs` (a tree of tensors) after the other, put together.

    >>> map(lambda x, y: x + y, torch.arange(4).view(2, 2), torch.tensor([10, 20]))
    tensor([[10, 21],
            [12, 23]])
    """
    leaves, structure = pytree.tree_flatten(xs)
    if not leaves or not all([isinstance(leaf, torch.Tensor) for leaf in leaves]):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    lengths = [leaf.shape[0] for leaf in leaves]
    if 0 in lengths:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if len(set(lengths)) > 1:
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {[leaf.shape for leaf in leaves]}.")
    rest, whole = pytree.tree_flatten(((xs, *args), {}))
    flat = Flat(lambda positional, named: f(*positional), whole)
    made = map_impl(flat, leaves, rest[len(leaves):])
    return pytree.tree_unflatten(made, flat.returned)


def scan(combine_fn: Callable[[Any, Any], Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """Carry a value through the slices of `xs`: `combine_fn(carry, x)` gives the next carry and an output for that slice.

    >>> scan(lambda carry, x: (carry + x, carry), torch.tensor(0), torch.arange(4))
    (tensor(6), tensor([0, 0, 1, 3]))
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    starts, start_structure = pytree.tree_flatten(init)
    leaves, structure = pytree.tree_flatten(xs)
    if not starts:
        raise RuntimeError("scan() operator requires init leaves.")
    for start in starts:
        if not isinstance(start, torch.Tensor):
            raise RuntimeError(f"All init leaves must be a Tensor but got {start}")
    if not leaves:
        return init, []
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(f"All xs leaves must be a Tensor but got {leaf}")
        if leaf.movedim(dim, 0).shape[0] == 0:
            raise RuntimeError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    rows = [leaf.movedim(dim, 0) for leaf in leaves]
    rows = [row.flip([0]) for row in rows] if reverse else rows
    count = len(starts)
    outputs: list[Any] = []

    def combine(*values: Any) -> list[Any]:
        made = combine_fn(pytree.tree_unflatten(list(values[:count]), start_structure),
                          pytree.tree_unflatten(list(values[count:]), structure))
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise UncapturedHigherOrderOpError(f"Expect combine_fn to return a tuple (next_carry, y) but got {made}.")
        carried, other = pytree.tree_flatten(made[0])
        given, output = pytree.tree_flatten(made[1])
        if other != start_structure:
            raise UncapturedHigherOrderOpError("The tree structure of the inits and the carries are not identical. init "
                                               f"treespec: {start_structure} carry treespec: {other}")
        outputs[:] = [output]
        return [*carried, *given]

    made = scan_op(combine, starts, rows, ())
    stacked = [row.flip([0]) for row in made[count:]] if reverse else made[count:]
    stacked = [row.movedim(0, dim) for row in stacked]
    return (pytree.tree_unflatten(list(made[:count]), start_structure), pytree.tree_unflatten(stacked, outputs[0]))
