"""Reductions that select elements: maximum and minimum in all their forms, median, mode, k-th value."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.copying import converted
from retrograd.core.opdef import OpDef, defop
from retrograd.ops import late
from retrograd.ops.reduction import selection
from retrograd.ops.shared.along import choose, order_rows, select_rows, take_along
from retrograd.ops.shared.families import wrap_dim
from retrograd.ops.shared.reductions import (
    FLOAT32,
    INT64,
    along_dim,
    axes_of,
    dense,
    flattened,
    need_elements,
    read_evenly,
    read_selected,
    refuse,
    restore_dims,
    spread_evenly,
    spread_selected,
)

NAMED = "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"


def taken(xp: Any, self: Any, indices: Any, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """The elements at `indices` (which have size 1 along `axis`), and the indices."""
    values = take_along(self, indices, axis)
    if not keepdim:
        values, indices = values.squeeze(axis), indices.squeeze(axis)
    return dense(values), dense(indices)


def selected_backward(grad: Any, dim: int, indices: Any, self_sym_sizes: Any, keepdim: bool) -> Any:
    return spread_selected(grad, dim, indices, self_sym_sizes, keepdim)


def selected_jvp(self_t: Any, dim: int, indices: Any, keepdim: bool) -> Any:
    return read_selected(self_t, dim, indices, keepdim), None


# ---- max and min
def full_extreme_kernel(name: str, reduce: str) -> Any:
    def kernel(xp: Any, self: Any) -> Any:
        if self.size == 0:
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                               "reduction dim with the 'dim' argument.")
        refuse(f"{name}_all", self, "c")
        return getattr(xp, reduce).reduce(self, None)
    return kernel


def widened(kernel: Any) -> Any:
    """A kernel of one array for direct use, without the widening of the slow path."""
    def fast(x: Any) -> Any:
        return converted(kernel(np, converted(x, FLOAT32)), x.dtype) if x.dtype.kind == "V" else kernel(np, x)
    return fast


def extreme_dim_kernel(name: str) -> Any:
    def kernel(xp: Any, self: Any, dim: int, keepdim: bool) -> Any:
        axis = wrap_dim(dim, self.ndim)
        need_elements(f"{name}()", self, axis)
        if self.dtype.kind == "c":
            raise RuntimeError(f"{name}(): does not support complex input")
        if self.ndim == 0:
            return self.copy(), xp.zeros((), INT64)
        return taken(xp, self, getattr(xp, "arg" + name)(self, axis, keepdims=True), axis, keepdim)
    return kernel


def define_extreme(name: str, node: str, reduce: str) -> tuple[Any, Any]:
    """max or min: of all elements, along a dimension, of two tensors."""
    places = {"max": "max_values", "min": "min_indices"}[name]
    along = defop(f"{name}.dim{NAMED}", kernel=extreme_dim_kernel(name), vjp=dict(self=selected_backward),
                  jvp=selected_jvp, batch=along_dim, node=f"{node}Backward0", widen=True, traits=("guarded",), pattern="dims",
                  lower=f"@native.{name}_dim", out_form=f"dim_{name}({name}, {places})")
    kernel = full_extreme_kernel(name, reduce)
    full = defop(f"{name}(Tensor self) -> Tensor", kernel=kernel,
                 out="cast: Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be "
                     "true, but got false.",
                 vjp=dict(self=lambda grad, self, result: spread_evenly(grad, self, result)),
                 jvp=lambda self_p, self_t, result: read_evenly(self_t, self_p, result),
                 batch=flattened(along), node=f"{node}Backward1", widen=True, fast=widened(kernel), lower=f"{name}(self)",
                 pattern="dims", out_form="unary_out")
    defop(f"{name}.other(Tensor self, Tensor other) -> Tensor", composite=True,
          kernel=lambda self, other: getattr(late, reduce)(self, other), out_form="out")
    return full, along


max_, max_dim = define_extreme("max", "Max", "maximum")
min_, min_dim = define_extreme("min", "Min", "minimum")


# ---- amax, amin, aminmax
def spread_over_ties(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient shared evenly, along the reduced dimensions, by all elements equal to the result."""
    grad, result = restore_dims(grad, dim, keepdim, self.shape), restore_dims(result, dim, keepdim, self.shape)
    mask = result == self
    return grad / mask.sum(dim, True) * mask


def read_over_ties(self_p: Any, self_t: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    mask = self_p == restore_dims(result, dim, keepdim, self_p.shape)
    return (self_t * mask).sum(dim, keepdim) / mask.sum(dim, keepdim)


def extreme_dims_kernel(name: str, reduce: str) -> Any:
    def kernel(xp: Any, self: Any, dim: Any, keepdim: bool) -> Any:
        if self.size == 0 and not dim:
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                               "reduction dim with the 'dim' argument.")
        for given in dim if self.size == 0 else ():
            if self.shape[wrap_dim(given, self.ndim)] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {given} to have non-zero size.")
        axes = axes_of(dim, self.ndim)
        if self.size:
            refuse(f"{name[1:]}_values_cpu", self, "c")
        return dense(getattr(xp, reduce).reduce(self, axes, keepdims=keepdim))
    return kernel


def amax_rule(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    return spread_over_ties(grad, self, result, dim, keepdim)


amax = defop(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    out="same: Expected the dtype for input and out to match, but got {value} for input's dtype and "
        "{out} for out's dtype.",
    kernel=extreme_dims_kernel("amax", "maximum"),
    vjp=dict(self=amax_rule), jvp=read_over_ties, batch=along_dim, widen=True,
    lower="max(self)", pattern="dims", traits=("out_first",), masked="reduction",
    doc="""The largest elements along dimensions; gradients are shared among equals.
    >>> torch.amax(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([5., 3.])
    """,
)
amin = defop(
    "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    out="same: Expected the dtype for input and out to match, but got {value} for input's dtype and "
        "{out} for out's dtype.",
    kernel=extreme_dims_kernel("amin", "minimum"),
    vjp=dict(self=amax_rule), jvp=read_over_ties, batch=along_dim, widen=True,
    lower="min(self)", pattern="dims", traits=("out_first",), masked="reduction",
    doc="""The smallest elements along dimensions; gradients are shared among equals.
    >>> torch.amin(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([1., 2.])
    """,
)


def aminmax_kernel(xp: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None and self.size == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                           "identity.")
    axes = axes_of(None if dim is None else (dim,), self.ndim)
    if not self.size:
        for axis in axes:
            need_elements("aminmax", self, axis)
    refuse("aminmax_cpu", self, "c")
    least, most = lean.natively(amin, self, axes, keepdim), lean.natively(amax, self, axes, keepdim)
    if least is not None and most is not None:
        return least, most
    low, high = xp.minimum.reduce(self, axes, keepdims=keepdim), xp.maximum.reduce(self, axes, keepdims=keepdim)
    return dense(low), dense(high)


def aminmax_backward(grads: Any, self: Any, min: Any, max: Any, dim: Any, keepdim: bool) -> Any:
    dims = () if dim is None else (dim,)
    parts = [spread_over_ties(grad, self, result, dims, keepdim)
             for grad, result in zip(grads, (min, max), strict=True) if grad is not None]
    return parts[0] + parts[1] if len(parts) == 2 else parts[0]


def aminmax_jvp(self_p: Any, self_t: Any, min: Any, max: Any, dim: Any, keepdim: bool) -> Any:
    dims = () if dim is None else (dim,)
    return read_over_ties(self_p, self_t, min, dims, keepdim), read_over_ties(self_p, self_t, max, dims, keepdim)


def aminmax_batch(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    self, dim, keepdim = args
    over = () if dim is None else (dim,)
    low, _ = along_dim(amin, [self, over, keepdim], dims, size)
    high, _ = along_dim(amax, [self, over, keepdim], dims, size)
    return (low, high), (0, 0)


aminmax = defop(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    kernel=aminmax_kernel, vjp=dict(self=aminmax_backward), jvp=aminmax_jvp, batch=aminmax_batch, widen=True,
    traits=("guarded",), pattern="dims", lower="@native.aminmax",
)


# ---- argmax and argmin
def position_kernel(name: str) -> Any:
    def kernel(xp: Any, self: Any, dim: Any, keepdim: bool) -> Any:
        if self.dtype.kind in "cb":
            kind = "complex" if self.dtype.kind == "c" else "bool"
            raise RuntimeError(f"{name}(): does not support {kind} input")
        if dim is None and self.size == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        axis = None if dim is None else wrap_dim(dim, self.ndim)
        if axis is not None:
            need_elements(f"{name}()", self, axis)
        if self.ndim == 0:
            return xp.zeros((), INT64)
        if not keepdim and self.dtype.kind != "V":
            return dense(self.argmax(axis) if name == "argmax" else self.argmin(axis))
        return dense(getattr(xp, name)(self, axis, keepdims=keepdim))
    return kernel


def position_batch(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    self, dim, keepdim = args
    if dim is not None:
        return along_dim(op, args, dims, size)
    result, _ = flattened(op)(op, [self, 1, False], dims, size)
    return result.view((size,) + (1,) * (self.ndim - 1)) if keepdim else result, 0


argmax = defop("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", kernel=position_kernel("argmax"),
               batch=position_batch, widen=True, lower="@native.argmax", masked="reduction",
    doc="""The index of the largest element, of the whole or along `dim`.
    >>> torch.argmax(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([1, 0])
    """)
argmin = defop("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", kernel=position_kernel("argmin"),
               batch=position_batch, widen=True, lower="@native.argmin", masked="reduction",
    doc="""The index of the smallest element, of the whole or along `dim`.
    >>> torch.argmin(torch.tensor([3.0, 1.0, 2.0]))
    tensor(1)
    """)


# ---- median, mode, k-th value
def ambiguous_rows(xp: Any, x: Any, indices: Any) -> list[tuple[int, ...]]:
    """The rows (along the last dimension) where the element at `indices` occurs more than once."""
    chosen = lean.take_along(x, indices, -1)
    same = (x == chosen) | ((x != x) & (chosen != chosen))
    return [tuple(row) for row in xp.argwhere(xp.asarray(same.sum(-1) > 1))]


def median_positions(xp: Any, self: Any, axis: int, ignore_nan: bool) -> Any:
    """The position of the median along `axis`, kept with size 1: the lower of two middle elements; NaN if there is one."""
    x = self if axis == self.ndim - 1 else lean.moveaxis(self, axis, -1)
    blank = x != x
    if x.size and not blank.any():
        middle = (x.shape[-1] - 1) // 2
        indices = select_rows(x, "m", middle)
        if indices is None:
            indices = order_rows(x)[..., middle:middle + 1].copy()
        return indices if axis == self.ndim - 1 else lean.moveaxis(indices, -1, axis)
    counted = x.shape[-1] - blank.sum(-1, keepdims=True) if ignore_nan else xp.full((*x.shape[:-1], 1), x.shape[-1])
    middle = xp.maximum(counted - 1, 0) // 2
    indices = select_rows(x, "m", middle)
    if indices is None:
        indices = lean.take_along(order_rows(x), middle, -1)
    for row in [tuple(row) for row in xp.argwhere(xp.asarray(counted[..., 0] == 0))]:
        order = list(range(x.shape[-1]))
        selection.nth_element(order, 0, selection.ascending(x[row].tolist()))
        indices[(*row, 0)] = order[0]
    if not ignore_nan:
        indices = xp.where(blank.any(-1, keepdims=True), xp.argmax(blank, -1, keepdims=True), indices)
    return lean.moveaxis(indices, -1, axis)


def median_kernel(ignore_nan: bool) -> Any:
    def kernel(xp: Any, self: Any) -> Any:
        if self.size == 0:
            # NaN, or its conversion to an integer
            wide_integer = self.dtype.kind == "i" and self.itemsize >= 4
            blank = 0 if self.dtype.kind in "iu" else float("nan")
            return xp.asarray(xp.iinfo(self.dtype).min if wide_integer else blank).astype(self.dtype)
        refuse("median_cpu", self, "cb")
        flat = self.reshape(-1)
        found = choose(flat, "m", (flat.size - 1) // 2, 0, False) if flat.size <= 4096 else None      # by sorting
        if found is not None:
            return found[0]
        blanks = int(xp.count_nonzero(flat != flat))
        if blanks and not ignore_nan:
            return flat[xp.argmax(flat != flat)]
        middle = max(self.size - blanks - 1, 0) // 2
        return xp.partition(flat, middle)[middle]
    return kernel


def median_dim_kernel(ignore_nan: bool) -> Any:
    def kernel(xp: Any, self: Any, dim: int, keepdim: bool) -> Any:
        axis = wrap_dim(dim, self.ndim)
        need_elements("median()", self, axis)
        refuse("median_out", self, "cb")
        if self.ndim == 0:
            return self.copy(), xp.zeros((), INT64)
        made = choose(self, "m", (self.shape[axis] - 1) // 2, axis, keepdim)
        if made is not None:
            return made
        return taken(xp, self, median_positions(xp, self, axis, ignore_nan), axis, keepdim)
    return kernel


CHECKED = "(while checking arguments for median)"
MEDIAN_OUT = ("same: Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {out_type} "
              f"does not equal {{value_type}} {CHECKED} // same: Expected tensor for argument #1 'indices' to have scalar type "
              f"Long; but got {{out_type}} instead {CHECKED}")


def define_median(name: str, node: str, ignore_nan: bool) -> tuple[Any, Any]:
    along = defop(f"{name}.dim{NAMED}", kernel=median_dim_kernel(ignore_nan), vjp=dict(self=selected_backward),
                  jvp=selected_jvp, batch=along_dim, node=f"{node}Backward1", widen=True, pattern="dims", out_form="dim_values",
                  out=MEDIAN_OUT, traits=("out_last_first",))
    full = defop(f"{name}(Tensor self) -> Tensor", out="aten", kernel=median_kernel(ignore_nan),
                 vjp=dict(self=lambda grad, self, result: spread_evenly(grad, self, result)),
                 jvp=lambda self_p, self_t, result: read_evenly(self_t, self_p, result),
                 batch=flattened(along), widen=True, pattern="dims")
    return full, along


median, median_dim = define_median("median", "Median", False)
nanmedian, nanmedian_dim = define_median("nanmedian", "Nanmedian", True)


def mode_kernel(xp: Any, self: Any, dim: int, keepdim: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    need_elements("mode()", self, axis)
    if self.ndim == 0:
        return self.copy(), xp.zeros((), INT64)
    if self.size:
        refuse("mode_cpu", self, "c")
    made = choose(self, "M", 0, axis, keepdim)
    if made is not None:
        return made
    x = lean.moveaxis(self, axis, -1)
    blank = bool((x != x).any())
    order = None if blank else select_rows(x, "o", 0)
    ambiguous: Any = () if order is not None or not blank and x.shape[-1] <= selection.SMALL else xp.ndindex(x.shape[:-1])
    order = order_rows(x) if order is None else order
    for row in ambiguous:
        places = list(range(x.shape[-1]))
        values = x[row].tolist()
        selection.sort(places, len(places), lambda i, j, values=values: values[i] < values[j])  # type: ignore[misc]
        order[row] = places
    ordered = lean.take_along(x, order, -1)
    place = xp.arange(x.shape[-1])
    fresh = xp.ones(x.shape, bool)
    fresh[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    start = xp.maximum.accumulate(xp.where(fresh, place, 0), -1)
    # The first of the longest runs ends where its length is first reached; that element is reported.
    end = xp.argmax(place - start, -1, keepdims=True)
    indices = lean.moveaxis(lean.take_along(order, end, -1), -1, axis)
    return taken(xp, self, indices, axis, keepdim)


mode = defop(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out="same: expected scalar type '{value}' but got '{out}' for {name} output",
    kernel=mode_kernel, vjp=dict(self=selected_backward), jvp=selected_jvp, batch=along_dim, widen=True, real_only=True,
    traits=("guarded", "out_first"), pattern="choices",
    out_form="values",
)


def kthvalue_kernel(xp: Any, self: Any, k: int, dim: int, keepdim: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    need_elements("kthvalue()", self, axis)
    if not 1 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if self.ndim == 0:
        return self.copy(), xp.zeros((), INT64)
    refuse("kthvalue_cpu", self, "cb")
    made = choose(self, "k", k - 1, axis, keepdim)
    if made is not None:
        return made
    x = lean.moveaxis(self, axis, -1)
    found = select_rows(x, "k", k - 1)
    if found is not None:
        return taken(xp, self, lean.moveaxis(found, -1, axis), axis, keepdim)
    indices = order_rows(x)[..., k - 1:k].copy()
    for row in ambiguous_rows(xp, x, indices):
        indices[(*row, 0)] = selection.quickselect(x[row].tolist(), k - 1)
    return taken(xp, self, lean.moveaxis(indices, -1, axis), axis, keepdim)


kthvalue = defop(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out="same: output {name} must be of same type as input // same: output {name} must be of scalar type Long",
    kernel=kthvalue_kernel, vjp=dict(self=selected_backward), jvp=selected_jvp, batch=along_dim, widen=True,
    real_only=True, traits=("out_apart",), pattern="choices",
    out_form="values",
    doc="""The k-th smallest element along `dim`, and its index.
    >>> torch.kthvalue(torch.tensor([3, 1, 2]), 2).values
    tensor(2)
    """,
)

# ---- the backward op of the ops above
value_selecting_reduction_backward = defop(
    "value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor",
    composite=True, variants="", out=False, kernel=spread_selected,
)

