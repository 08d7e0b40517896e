"""Sorting, the largest elements, unique values, and searching among sorted values."""
from __future__ import annotations

import math
from typing import Any

from retrograd.core import lean, storage
from retrograd.core.algorithms import native, native_on_copies
from retrograd.core.api import expose
from retrograd.core.arguments import resolve
from retrograd.core.dispatch import call
from retrograd.core.opdef import NOT_IMPLEMENTED, OpDef, defop
from retrograd.core.tensor import wants_grad
from retrograd.ops import late
from retrograd.ops.memory.copy import format_strides
from retrograd.ops.reduction import selection
from retrograd.ops.shared import families, geometry
from retrograd.ops.shared.along import choose, keep, order_rows, search_rows, select_rows, take_along
from retrograd.ops.shared.families import wrap_dim
from retrograd.ops.shared.reductions import (
    FLOAT64,
    INT64,
    along_dim,
    dense,
    legacy,
    read_selected,
    refuse,
    spread_selected,
    wide,
)


# ---- sort
def positions(xp: Any, x: Any, axis: int, descending: bool) -> Any:
    """The order of the elements along `axis`; equal ones keep theirs, NaN counts as the largest."""
    return lean.moveaxis(order_rows(lean.moveaxis(x, axis, -1), descending), -1, axis)


def laid_out(like: Any, array: Any) -> Any:
    """The array with the strides that a copy of `like` would have."""
    strides = format_strides(like, None)
    if storage.strides_of(array) == strides:
        return array
    made = geometry.new_beside(array, array.shape, strides, array.dtype)
    made[...] = array
    return made


def sort_kernel(xp: Any, self: Any, dim: int, descending: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    if self.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if self.ndim == 0:
        return self.copy(), xp.zeros((), INT64)
    made = choose(self, "s", 0, axis, True, descending)
    if made is not None:
        return made
    indices = positions(xp, wide(self), axis, descending)
    return laid_out(self, take_along(self, indices, axis)), laid_out(self, indices)


def sort_backward(grad: Any, self_sym_sizes: Any, dim: int, indices: Any) -> Any:
    return spread_selected(grad, dim, indices, self_sym_sizes, True)


def sort_jvp(self_t: Any, dim: int, indices: Any) -> Any:
    return read_selected(self_t, dim, indices, True), None


sort = defop(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    kernel=sort_kernel, vjp=dict(self=sort_backward), jvp=sort_jvp, batch=along_dim, traits=("guarded",), pattern="choices",
    out_form="values",
    doc="""The elements in order along `dim`, and where they were.
    >>> torch.sort(torch.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
    """,
)
sort_stable = defop(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    kernel=lambda xp, self, stable, dim, descending: sort_kernel(xp, self, dim, descending),
    vjp=dict(self=sort_backward), jvp=sort_jvp, batch=along_dim, node="SortBackward1", traits=("guarded",), pattern="choices",
    out_form="values_stable",
)


def unrecorded(self: Any) -> Any:
    return self.detach() if wants_grad(self) else self


argsort = defop(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", composite=True, out=False,
    kernel=lambda self, dim, descending: call(sort, [unrecorded(self), dim, descending])[1],
    doc="""The indices that would sort the elements.
    >>> torch.argsort(torch.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """,
)
argsort_stable = defop(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", composite=True, out="same",
    kernel=lambda self, stable, dim, descending: call(sort_stable, [unrecorded(self), stable, dim, descending])[1],
)
msort = defop("msort(Tensor self) -> Tensor",
              out="same", composite=True, traits=("guarded",), kernel=lambda self: call(sort, [self, 0, False])[0])


# ---- topk
def topk_kernel(xp: Any, self: Any, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    if not 0 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if self.dtype.kind in "cb":
        kind = " topk does not support complex" if self.dtype.kind == "c" else "topk does not support bool"
        raise RuntimeError(f"{kind} dtypes on CPU")
    if self.ndim == 0:
        return self.copy(), xp.zeros((), INT64)
    made = choose(self, "t", k, axis, True, largest, sorted)
    if made is not None:
        return made
    indices = lean.moveaxis(topk_positions(xp, lean.moveaxis(wide(self), axis, -1), k, largest, sorted), -1, axis)
    return dense(take_along(self, indices, axis)), dense(indices)


def topk_positions(xp: Any, x: Any, k: int, largest: bool, sorted: bool) -> Any:
    """The positions of the k largest (or smallest) elements along the last dimension."""
    if k == 0:
        return xp.empty((*x.shape[:-1], 0), INT64)
    found = select_rows(x, "t", k, largest, sorted)
    if found is not None:
        return found
    order = positions(xp, x, x.ndim - 1, largest)
    ordered = lean.take_along(x, order, -1)[..., :k + 1]
    again = (ordered[..., 1:] == ordered[..., :-1]) | ((ordered != ordered)[..., 1:] & (ordered != ordered)[..., :-1])
    rows = xp.ndindex(x.shape[:-1]) if not sorted else [tuple(row) for row in xp.argwhere(xp.asarray(again.any(-1)))]
    for row in rows:
        values = x[row].tolist()
        before = selection.descending(values) if largest else selection.ascending(values)
        places = list(range(len(values)))
        if k * 64 <= len(values):
            selection.partial_sort(places, k, before)
        else:
            selection.nth_element(places, k - 1, before)
            if sorted:
                selection.sort(places, k - 1, before)
        order[row] = places
    return order[..., :k]


topk = defop(
    "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    kernel=topk_kernel, vjp=dict(self=sort_backward), jvp=sort_jvp, batch=along_dim, traits=("guarded",), pattern="choices",
    out_form="values",
    doc="""The k largest elements along `dim`, and their indices.
    >>> torch.topk(torch.tensor([3, 1, 2]), 2).values
    tensor([3, 2])
    """,
)


# ---- unique
def unique_kernel(xp: Any, self: Any, return_inverse: bool, return_counts: bool) -> Any:
    """Sorted unique values, the inverse indices, and the counts; NaNs are all distinct."""
    refuse("unique", self, "c")
    x = wide(self)
    flat = x.reshape(-1)
    order = order_rows(flat)
    ordered = take_along(flat, order, 0)
    fresh = xp.ones(flat.shape, bool)
    xp.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    none = xp.empty(0, INT64)
    inverse = counts = none
    if return_inverse:
        inverse = xp.empty(flat.shape, INT64)
        inverse[order] = xp.cumsum(fresh) - 1
        inverse = inverse.reshape(self.shape)
    if return_counts:
        counts = xp.diff(xp.append(xp.flatnonzero(fresh), flat.size))
    return keep(ordered, fresh).astype(self.dtype), inverse, counts


def runs(xp: Any, rows: Any) -> tuple[Any, Any, Any]:
    """For the rows of a matrix: the starts of runs of equal rows, the run of each row, the run lengths."""
    fresh = xp.ones(len(rows), bool)
    fresh[1:] = (rows[1:] != rows[:-1]).any(1)
    starts = xp.flatnonzero(fresh)
    return starts, xp.cumsum(fresh) - 1, xp.diff(xp.append(starts, len(rows)))


def rows_of(xp: Any, self: Any, dim: int) -> tuple[Any, Any]:
    """The slices along `dim`, as they are and as rows of a matrix."""
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = wrap_dim(dim, self.ndim)
    if self.size == 0 and (self.shape[axis] or sum([n == 0 for n in self.shape]) != 1):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
                           if self.shape[axis] else
                           "Number of zero sized dimensions is more than one, so unique cannot be applied ")
    slices = xp.ascontiguousarray(lean.moveaxis(self, axis, 0))
    return slices, wide(slices).reshape(len(slices), -1) if self.size else xp.empty((0, 1))


def unique_dim_kernel(xp: Any, self: Any, dim: int, consecutive: bool) -> Any:
    """unique along a dimension; the inverse and the counts are always computed."""
    refuse("unique_dim", self, "c")
    slices, rows = rows_of(xp, self, dim)
    order = xp.arange(len(rows)) if consecutive else xp.lexsort(rows.T[::-1])
    starts, group, counts = runs(xp, rows[order])
    inverse = xp.empty(len(rows), INT64)
    inverse[order] = group
    values = lean.moveaxis(slices[order[starts]], 0, wrap_dim(dim, self.ndim))
    return values, inverse, counts.astype(INT64)


def unique_consecutive_kernel(xp: Any, self: Any, return_inverse: bool, return_counts: bool, dim: Any) -> Any:
    if dim is not None:
        return unique_dim_kernel(xp, self, dim, True)
    refuse("unique", self, "c")
    flat = wide(self).reshape(-1)
    fresh = xp.ones(flat.size, bool)
    xp.not_equal(flat[1:], flat[:-1], fresh[1:])
    counts = inverse = xp.empty(0, INT64)
    if return_counts:
        starts = fresh.nonzero()[0]
        counts = xp.empty(len(starts), INT64)
        if len(starts):
            xp.subtract(starts[1:], starts[:-1], counts[:-1])
            counts[-1] = flat.size - starts[-1]
    if return_inverse:
        inverse = fresh.cumsum()
        inverse -= 1
        inverse = inverse.reshape(self.shape)
    return self.reshape(-1)[fresh], inverse, counts


unique_old = defop(
    "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
    meta="values",
    kernel=lambda xp, self, sorted, return_inverse: unique_kernel(xp, self, return_inverse, False)[:2],
    vjp=NOT_IMPLEMENTED, batch=families.loop, variants="function", out=False,
)
unique2 = defop(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) "
    "-> (Tensor, Tensor, Tensor)",
    meta="values",
    kernel=lambda xp, self, sorted, return_inverse, return_counts:
        unique_kernel(xp, self, return_inverse, return_counts),
    vjp=NOT_IMPLEMENTED, batch=families.varying_shapes, variants="function", out=False,
)
unique_dim = defop(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) "
    "-> (Tensor, Tensor, Tensor)",
    meta="values",
    kernel=lambda xp, self, dim, sorted, return_inverse, return_counts: unique_dim_kernel(xp, self, dim, False),
    vjp=NOT_IMPLEMENTED, batch=families.varying_shapes, variants="", out=False,
)
unique_consecutive_op = defop(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) "
    "-> (Tensor, Tensor, Tensor)",
    meta="values",
    kernel=unique_consecutive_kernel, vjp=NOT_IMPLEMENTED, batch=families.varying_shapes, variants="", out=False,
    lower="@native.unique_runs",
)
unique_dim_consecutive = defop(
    "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) "
    "-> (Tensor, Tensor, Tensor)",
    meta="values",
    kernel=lambda xp, self, dim, return_inverse, return_counts: unique_dim_kernel(xp, self, dim, True),
    vjp=NOT_IMPLEMENTED, batch=families.varying_shapes, variants="", out=False,
)


def asked_for(results: Any, return_inverse: bool, return_counts: bool) -> Any:
    """The values alone, or with the requested extra outputs."""
    chosen = [results[0]] + ([results[1]] if return_inverse else []) + ([results[2]] if return_counts else [])
    return tuple(chosen) if len(chosen) > 1 else chosen[0]


@expose
def unique(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """The different elements, or with `dim` the different slices, in ascending order."""
    flags: dict[str, Any] = dict(sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    op = unique2
    if dim is not None:
        op, flags = unique_dim, dict(dim=dim, **flags)
    results = call(op, resolve(op.name, [op.schema], (input,), flags)[1])
    return asked_for(results, return_inverse, return_counts)


@expose
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:
    """The elements, or with `dim` the slices, without immediate repetitions."""
    op = unique_consecutive_op
    flags = dict(return_inverse=return_inverse, return_counts=return_counts, dim=dim)
    results = call(op, resolve(op.name, [op.schema], (input,), flags)[1])
    return asked_for(results, return_inverse, return_counts)


# ---- searching
def check_search(bounds: Any, x: Any, right: bool, side: Any, sorter: Any) -> bool:
    """Whether to search from the right; raises for contradictory arguments."""
    name = "torch.searchsorted(): "
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"{name}side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}side and right can't be set to opposites, got side of left while right was True")
    if x.ndim == 0 and bounds.ndim != 1:
        raise RuntimeError(f"{name}input value can be a scalar only when boundaries tensor dimension is 1, but we got "
                           f"boundaries tensor dim({bounds.ndim}) and input value's dim({x.ndim}) numel({x.size})")
    if bounds.ndim == 0:
        raise RuntimeError(f"{name}boundaries tensor should have positive dimension, but got 0 dimension")
    if bounds.ndim != 1 and (bounds.ndim != x.ndim or bounds.shape[:-1] != x.shape[:-1]):
        raise RuntimeError(f"{name}boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                           "tensor and input value tensor must match, but we got boundaries tensor "
                           f"{list(bounds.shape)} and input value tensor {list(x.shape)}")
    if sorter is not None:
        if sorter.shape != bounds.shape:
            raise RuntimeError(f"{name}boundary and sorter must have the same size, but got boundary tensor "
                               f"{list(bounds.shape)}and got sorter tensor {list(sorter.shape)}")
        if sorter.dtype != INT64:
            raise RuntimeError(f"{name}sorter must be a tensor of long dtype but got dtype {legacy(sorter)}")
        if sorter.size and (sorter.min() < 0 or sorter.max() >= sorter.shape[-1]):
            raise RuntimeError(f"{name}sorter index out of range")
    return right or side == "right"


def search(xp: Any, bounds: Any, x: Any, out_int32: bool, right: bool) -> Any:
    """The insertion position of each of `x` in `bounds`, row by row if there are rows."""
    if not x.size:
        return xp.empty(x.shape, xp.int32 if out_int32 else INT64)
    refuse("searchsorted_out_cpu", x, "c" if bounds.dtype.kind == "f" else "cb")
    refuse("searchsorted_out_cpu", bounds, "c")
    if bounds.dtype != x.dtype or bounds.dtype.char not in "fdlq":
        common = xp.result_type(wide(bounds), wide(x))
        bounds, x = wide(bounds).astype(common), wide(x).astype(common)
    return search_rows(bounds, x, right).astype(xp.int32 if out_int32 else INT64, copy=False)


def searchsorted_kernel(xp: Any, sorted_sequence: Any, self: Any, out_int32: bool, right: bool, side: Any,
                        sorter: Any) -> Any:
    x = self if hasattr(self, "ndim") else xp.asarray(self)
    right = check_search(sorted_sequence, x, right, side, sorter)
    if sorter is not None:
        sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, -1)
    return search(xp, sorted_sequence, x, out_int32, right)


def bucketize_kernel(xp: Any, self: Any, boundaries: Any, out_int32: bool, right: bool) -> Any:
    if not hasattr(self, "ndim"):
        refuse("searchsorted_out_cpu", boundaries, "c")       # the number is converted to their dtype
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return search(xp, boundaries, self if hasattr(self, "ndim") else xp.asarray(self), out_int32, right)


def batched_search(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule: an unbatched sequence is shared, a batched one is searched example by example."""
    sequence, values, *options, sorter = args
    if dims[0] is None and sequence.ndim == 1 and dims[-1] is None:
        return call(op, args), dims[1]
    if dims[0] is None or sequence.ndim != 2 or sorter is not None:
        return families.loop(op, args, dims, size)
    moved = families.move_to_front(values, dims[1]) if dims[1] is not None else values.expand((size, *values.shape))
    found = call(op, [families.move_to_front(sequence, dims[0]), moved.reshape((size, -1)), *options, None])
    return found.reshape(moved.shape), 0


WRONG_POSITIONS = ("same: torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
                   "depending on whether out_int32 flag is True, but we got output tensor's dtype {out} and out_int32 flag is "
                   "{narrow}")
batched_search.loops = True  # type: ignore[attr-defined]
searchsorted = defop(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    kernel=searchsorted_kernel, batch=batched_search, variants="function", out=WRONG_POSITIONS,
    lower="@native.searchsorted",
    doc="""Where elements would have to be put into sorted sequences.
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """,
)
searchsorted_scalar = defop(
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    kernel=searchsorted_kernel, batch=families.loop, variants="function", out=WRONG_POSITIONS,
)
bucketize = defop(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    kernel=bucketize_kernel, batch=families.element_by_element("self"), variants="function", out=WRONG_POSITIONS,
    lower="@native.bucketize",
    doc="""The index of the bucket between `boundaries` that each element falls into.
    >>> torch.bucketize(torch.tensor([0.5, 2.5]), torch.tensor([1.0, 2.0]))
    tensor([0, 2])
    """,
)
bucketize_scalar = defop(
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    kernel=bucketize_kernel, batch=families.loop, variants="function", out=False,
)


def isin_kernel(xp: Any, elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    for operand in (elements, test_elements):
        kind = legacy(operand) if hasattr(operand, "ndim") else "ComplexDouble" if isinstance(operand, complex) else ""
        if kind == "Bool" or kind.startswith("Complex"):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind}")
    if native is not None:
        made = native_on_copies(native, "contains", elements, test_elements, invert)
        if made is not None:
            return made
    x = xp.asarray(wide(xp.asarray(elements)), order="C")
    tests = wide(xp.asarray(test_elements))
    if 0 < x.size * tests.size <= 1024 and x.dtype == tests.dtype:
        same = xp.equal(x[..., None], tests.reshape(-1))
        found = xp.logical_or.reduce(same, -1)
        return xp.asarray(xp.logical_not(found) if invert else found)
    return xp.asarray(xp.isin(x, tests, invert=invert))


ISIN = ", *, bool assume_unique=False, bool invert=False) -> Tensor"
isin = defop(f"isin.Tensor_Tensor(Tensor elements, Tensor test_elements{ISIN}", kernel=isin_kernel,
             batch=families.element_by_element("elements"), variants="function")
isin_scalar = defop(f"isin.Tensor_Scalar(Tensor elements, Scalar test_element{ISIN}", kernel=isin_kernel,
                    batch=families.pointwise, elementwise=False, variants="function")
scalar_isin = defop(f"isin.Scalar_Tensor(Scalar element, Tensor test_elements{ISIN}", kernel=isin_kernel,
                    batch=families.loop, variants="function")


# ---- counting
def histc_kernel(xp: Any, self: Any, bins: int, min: Any, max: Any) -> Any:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    refuse("linspace_cpu", self, "b")
    refuse("aminmax_cpu" if self.dtype.kind == "c" and min == max and self.size else "histogram_cpu", self, "ciu")
    x = wide(self).reshape(-1)
    low, high = x.dtype.type(min), x.dtype.type(max)
    of_values = low == high and x.size
    if of_values:
        low, high = x.min(), x.max()
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        ends = ", ".join(["-nan" if end != end and (of_values or math.copysign(1, end) < 0) else f"{float(end):g}"
                          for end in (low, high)])
        raise RuntimeError(f"torch.histc: range of [{ends}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    inside = x[(x >= low) & (x <= high)]
    place = ((inside - low) * bins / (high - low)).astype(INT64)
    return xp.bincount(xp.minimum(place, bins - 1), minlength=bins).astype(self.dtype)


histc = defop(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    out="same: torch.histogram: input tensor and hist tensor should have the same dtype, but got "
        "input {c_value} and hist {c_out}",
    kernel=histc_kernel, batch=families.loop, lower="@native.histc",
    doc="""How many elements fall into each of some bins of equal width.
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=2, min=1, max=2)
    tensor([2., 1.])
    """)


def bincount_kernel(xp: Any, self: Any, weights: Any, minlength: int) -> Any:
    refuse("bincount_cpu", self, "fcbV")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.ndim == 1 and self.size == 0:
        return xp.zeros(minlength, INT64)
    if self.ndim != 1 or self.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return xp.bincount(self, minlength=minlength)
    if weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    result = xp.bincount(self, weights.astype(FLOAT64), minlength=minlength)
    return result.astype(weights.dtype) if weights.dtype == xp.float32 else result


bincount = defop(
    "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    meta="values", kernel=bincount_kernel,
    vjp=dict(weights=lambda grad, self: grad.index_select(0, self)), batch=families.loop, out=False,
    jvp=lambda self_p, weights_t, minlength: late.bincount(self_p, weights_t, minlength),
    doc="""How often each of 0, 1, 2, ... occurs.
    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """,
)
