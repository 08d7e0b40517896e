"""`laplacian`: the sum of second derivatives in one forward pass.

NOTE [Collapsed second order]
A Laplacian sums the second derivative along every direction. Linear parts can be summed early: each value carries its first
derivatives along all directions, and one tensor for the sum of its second ones. A linear op maps that sum as it maps a
value; any other op adds the term of its own curvature and the first derivatives.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from retrograd.autograd.forward_ad import check_floating
from retrograd.core import forward
from retrograd.core.dispatch import call
from retrograd.core.dtypes import is_complex_type
from retrograd.core.opdef import OpDef
from retrograd.core.storage import strides_of
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.transforms.arguments import argument_paths, replace_arguments, select_arguments
from retrograd.transforms.base import running
from retrograd.transforms.batching import Vmap, make_batched
from retrograd.transforms.carrying import Carrying
from retrograd.transforms.functionalize import run_functional
from retrograd.transforms.jacobian import standard_basis
from retrograd.transforms.jet import Jet, in_shape
from retrograd.transforms.lifted import lift
from retrograd.transforms.series import plus
from retrograd.transforms.tangents import check_formula
from retrograd.transforms.trees import flatten, map_leaves, unflatten
from retrograd.transforms.vmap import remove_batch

__all__ = ["laplacian"]


def laplacian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that returns the trace of the matrix of second derivatives of `func`, for each of its outputs.

    The sum is over all elements of the arguments `argnums`.

    >>> import retrograd as torch
    >>> laplacian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor(18.)
    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        paths = argument_paths(argnums, args)
        inputs, spec = flatten(select_arguments(args, argnums, paths))
        for t in inputs:
            if not isinstance(t, Tensor):
                raise RuntimeError(f"laplacian(f)(*args): Expected the arguments argnums={argnums} to only contain Tensors, "
                                   f"got {type(t)}")
            check_floating("primal", t)
        level = Laplace(sum([t.array.size for t in inputs]))
        basis = standard_basis(inputs)
        with level.started():
            given = unflatten([lift(t, level, (direction, None)) for t, direction in zip(inputs, basis, strict=True)], spec)
            output = run_functional(func, replace_arguments(args, argnums, paths, given), kwargs)
            with level.beneath():
                return map_leaves(level.second_of, output)
    return wrapper


class Laplace(Carrying):
    """Carries the first derivatives along all directions, stacked, and the sum of the second ones (None for zero)."""

    def __init__(self, directions: int) -> None:
        self.directions = directions

    def second_of(self, out: Any) -> Any:
        if not isinstance(out, Tensor):
            raise RuntimeError("laplacian(f)(*args): Expected f(*args) to return only tensors, got unsupported type "
                               f"{type(out)}")
        carried = self.carried_by(out)
        value = self.unwrap(out)
        return late.zeros_like(value) if carried is None or carried[1] is None else carried[1]

    def carry(self, op: OpDef, values: Any, carried: Any, result: Any) -> Any:
        check_formula(op)
        firsts, seconds = parts(carried, 0), parts(carried, 1)
        places = [i for i, one in enumerate(carried) if one is not None]
        results = result if op.multiple else (result,)
        real = not any([is_complex_type(r.array.dtype) for r in results if isinstance(r, Tensor)])
        linear = op.jvp == "linear" or "piecewise_linear" in op.traits or op.jvp == "multilinear" and len(places) == 1
        if op.jvp == "elementwise" and not linear and real and len(places) == 1 and (
                values[places[0]].array.shape == result.array.shape and not op.multiple):
            return self.of_elements(op, values, places[0], carried[places[0]], result)
        second = None if seconds is None else forward.tangents_of(op, values, seconds, result)
        if linear or op.jvp == "multilinear":
            first = self.along_all(lambda given: forward.tangents_of(op, values, given, result), firsts)
            if not linear:
                second = plus(second, self.of_pairs(op, values, firsts, places))
        else:
            jets = self.along_all(lambda given: curved(op, values, given, result), firsts)
            first, curvature = jets
            if op.multiple:
                second = [plus(None if second is None else second[i], None if c is None else c.sum(0) * 2)
                          for i, c in enumerate(curvature)]
            else:
                second = plus(second, None if curvature is None else curvature.sum(0) * 2)
        if not op.multiple:
            return self.pair(first, second, result)
        return [None if not isinstance(r, Tensor) else self.pair(first[i], None if second is None else second[i], r)
                for i, r in enumerate(result)]

    def pair(self, first: Any, second: Any, result: Any) -> Any:
        if first is None:
            return None
        if strides_of(first.array)[1:] != strides_of(result.array) or first.dtype is not result.dtype:
            (first,) = self.along_all(lambda given: [in_shape(given[0], result)], [first])
        return first, None if second is None else in_shape(second, result)

    def of_elements(self, op: OpDef, values: Any, place: int, carried: Any, result: Any) -> Any:
        """Elementwise ops: one slope and one curvature per element apply to all directions."""
        first, second = carried
        given: list[Any] = [None] * len(values)
        given[place] = (late.ones_like(values[place]), None)
        made = Jet(2).carry(op, values, given, result)
        if made is None:
            return None
        slope, curvature = made
        total = None if second is None or slope is None else slope * second
        if curvature is not None:
            total = plus(total, curvature * (first * first).sum(0) * 2)
        return self.pair(late.zeros_like(first) if slope is None else slope * first, total, result)

    def of_pairs(self, op: OpDef, values: Any, firsts: Any, places: list[int]) -> Any:
        """The curvature term of a product: a sum over pairs of factors."""
        total = None
        for i, j in itertools.combinations(places, 2):
            def both(given: Any, i: int = i, j: int = j) -> Any:
                replaced = list(values)
                replaced[i], replaced[j] = given[i], given[j]
                return call(op, replaced)
            total = plus(total, self.along_all(both, firsts).sum(0) * 2)
        return total

    def along_all(self, func: Any, firsts: Any) -> Any:
        """`func` of the first derivatives along every direction, the results stacked."""
        with running(Vmap(self.directions)) as level:
            made = func([batched(one, level) for one in firsts])
            return stacked(made, level)

    def of_function(self, cls: Any, spec: Any, out_spec: Any, values: Any, carried: Any, outputs: Any) -> Any:
        """A custom Function, treated like an op that has only a `jvp`."""
        firsts, seconds = parts(carried, 0), parts(carried, 1)

        def curve(given: Any) -> Any:
            return Jet(2).of_function(cls, spec, out_spec, values, with_nothing(given, 1), outputs)
        jets = self.along_all(curve, firsts)
        plain = [(None,)] * len(outputs) if seconds is None else Jet(1).of_function(
            cls, spec, out_spec, values, with_nothing(seconds, 0), outputs)
        return [self.pair(first, plus(one[0], None if c is None else c.sum(0) * 2), out)
                for (first, c), one, out in zip(jets, plain, outputs, strict=True)]


def with_nothing(given: Any, count: int) -> list[Any]:
    """First coefficients as series, followed by `count` zeros."""
    return [None if one is None else [None if item is None else (item, *[None] * count) for item in one]
            if isinstance(one, list) else (one, *[None] * count) for one in given]


def curved(op: OpDef, values: Any, given: Any, result: Any) -> Any:
    """The first and second coefficients of an op along one direction."""
    made = Jet(2).carry(op, values, with_nothing(given, 1), result)
    if op.multiple:
        return [None if one is None else one[0] for one in made], [None if one is None else one[1] for one in made]
    return (None, None) if made is None else made


def parts(carried: Any, which: int) -> Any:
    """One of the two carried tensors, one per argument; None if no argument has it."""
    found = [None if one is None else [None if item is None else item[which] for item in one] if isinstance(one, list)
             else one[which] for one in carried]
    nothing = [one is None or isinstance(one, list) and all([item is None for item in one]) for one in found]
    if all(nothing):
        return None
    return [None if empty else one for one, empty in zip(found, nothing, strict=True)]


def batched(one: Any, level: Vmap) -> Any:
    if isinstance(one, list):
        return [batched(item, level) for item in one]
    return None if one is None else make_batched(one, 0, level)


def stacked(made: Any, level: Vmap) -> Any:
    if isinstance(made, (list, tuple)):
        return [stacked(item, level) for item in made]
    return None if made is None else remove_batch(made, 0, level)
