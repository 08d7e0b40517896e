"""Reductions of jagged tensors: over the ragged dimension of padded parts, over others of what the parts are slices of."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.core.dispatch import call
from retrograd.nested.formulas import jagged_form, jagged_kernel, to_padded
from retrograd.nested.jagged import axis_of, new_lengths, ragged_as, values_of, wrapped
from retrograd.ops import late


def reduce(name: str, self: Any, dims: Any, keepdim: bool, padding: float, dense: Callable[[Any, Any], Any]) -> Any:
    """Reduce a jagged tensor by `dense`, a function of a dense tensor and the dimensions (None for all of them)."""
    rank, axis = self.array.ndim, axis_of(self)
    given = range(rank) if dims is None or not len(dims) else sorted([wrapped(self, d) for d in dims])
    ragged, batch = axis + 1 in given, 0 in given
    others = [d - 1 for d in given if d not in (0, axis + 1)]
    check(name, self, batch, ragged, others, dims is None or not len(dims))
    if batch:
        made = dense(values_of(self), None if len(given) == rank and not keepdim else sorted([axis, *others]))
        return made.unsqueeze(0) if keepdim else made
    if ragged:
        return dense(call(to_padded, [self, padding, None]), [axis + 1])
    made = dense(values_of(self), others)
    place = axis if keepdim else axis - sum([d < axis for d in others])
    if isinstance(made, tuple):
        return type(made)([ragged_as(t, self, place) for t in made])     # type: ignore[call-arg]
    return ragged_as(made, self, place)


def check(name: str, self: Any, batch: bool, ragged: bool, others: list[int], everything: bool = False) -> None:
    """Raise PyTorch's errors about dimensions that cannot be reduced together."""
    if batch and not ragged:
        raise RuntimeError(f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for "
                           "nested tensors")
    if ragged and not batch and others:
        if name == "mean":
            raise AssertionError("Cannot reduce on both ragged and non-batch dimensions without also reducing on batch")
        raise RuntimeError(f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors")
    if ragged and not everything and self._extra.sparse.ragged.lengths is not None:
        raise RuntimeError(f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors "
                           "with holes")


def limits(self: Any) -> tuple[Any, Any]:
    """The least and the greatest value of the dtype."""
    dtype = self.array.dtype
    if dtype.kind == "b":
        return 0, 1
    return (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)


@jagged_kernel("sum.dim_IntList")
def sum_dims(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    return reduce("sum", self, dim, keepdim, 0.0, lambda t, d: t.sum(d, keepdim, dtype=dtype))


@jagged_kernel("mean.dim")
def mean_dims(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is not None and [wrapped(self, d) for d in dim] == [axis_of(self) + 1]:
        check("mean", self, False, True, [])
        total = self.sum(dim, True, dtype=dtype)
        made = total / new_lengths(self._extra.sparse.ragged).reshape(-1, *(1,) * (total.dim() - 1))
        return made if keepdim else made.squeeze(axis_of(self) + 1)
    return reduce("mean", self, dim, keepdim, 0.0, lambda t, d: t.mean(d, keepdim, dtype=dtype))


@jagged_form("amax")
def amax(self: Any, dim: Any, keepdim: bool) -> Any:
    return reduce("amax", self, dim, keepdim, limits(self)[0], lambda t, d: t.amax(d or (), keepdim))


@jagged_form("amin")
def amin(self: Any, dim: Any, keepdim: bool) -> Any:
    return reduce("amin", self, dim, keepdim, limits(self)[1], lambda t, d: t.amin(d or (), keepdim))


@jagged_form("max.dim")
def max_dim(self: Any, dim: int, keepdim: bool) -> Any:
    return reduce("max", self, [dim], keepdim, limits(self)[0], lambda t, d: t.max(d[0], keepdim))


@jagged_form("min.dim")
def min_dim(self: Any, dim: int, keepdim: bool) -> Any:
    return reduce("min", self, [dim], keepdim, limits(self)[1], lambda t, d: t.min(d[0], keepdim))


@jagged_form("argmax")
def argmax(self: Any, dim: Any, keepdim: bool) -> Any:
    return reduce("argmax", self, None if dim is None else [dim], keepdim, limits(self)[0],
                  lambda t, d: t.argmax(None if d is None else d[0], keepdim))


@jagged_form("argmin")
def argmin(self: Any, dim: Any, keepdim: bool) -> Any:
    return reduce("argmin", self, None if dim is None else [dim], keepdim, limits(self)[1],
                  lambda t, d: t.argmin(None if d is None else d[0], keepdim))


@jagged_form("prod.dim_int")
def prod_dim(self: Any, dim: int, keepdim: bool, dtype: Any) -> Any:
    return reduce("prod", self, [dim], keepdim, 1.0, lambda t, d: t.prod(d[0], keepdim, dtype=dtype))


@jagged_form("any.dim", "any.dims", "any")
def any_dims(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    dims = [dim] if isinstance(dim, int) else dim
    return reduce("any", self, dims, keepdim, 0.0, lambda t, d: late.any(t, d, keepdim) if d else late.any(t))


@jagged_form("all.dim", "all.dims", "all")
def all_dims(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    dims = [dim] if isinstance(dim, int) else dim
    return reduce("all", self, dims, keepdim, 1.0, lambda t, d: late.all(t, d, keepdim) if d else late.all(t))


@jagged_form("max")
def max_all(self: Any) -> Any:
    return values_of(self).max()


@jagged_form("min")
def min_all(self: Any) -> Any:
    return values_of(self).min()


@jagged_form("prod")
def prod_all(self: Any, dtype: Any) -> Any:
    return values_of(self).prod(dtype=dtype)
