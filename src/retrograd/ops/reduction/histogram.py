"""Histograms.

Counts are piecewise constant in the elements, so they have derivatives only by the weights; a density also by the bin
widths, and the edges by the values that determine them.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import NOT_IMPLEMENTED, defop
from retrograd.ops import late
from retrograd.ops.create.ranges import linspace_values
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import C_NAMES, unsupported
from retrograd.ops.shared.reductions import read_evenly, spread_evenly, wide


def check_histogram(self: Any, weight: Any) -> None:
    if self.dtype.kind not in "fV":
        raise unsupported("histogram_cpu", self.dtype)
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the "
                           f"same dtype, but got input({C_NAMES[BY_NUMPY[self.dtype].name]}), and "
                           f"weight({C_NAMES[BY_NUMPY[weight.dtype].name]})")
    if weight is not None and weight.size != self.size:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                           f"excluding its innermost dimension, but got input with shape {[self.size, 1]} and weight with "
                           f"shape {[weight.size]}")


def counted(xp: Any, values: Any, edges: Any, density: bool) -> Any:
    """The counts of values between increasing edges; the last bin includes both of its edges."""
    ordered = xp.sort(values)
    places = ordered.searchsorted(edges, "left")
    places[-1] = ordered.searchsorted(edges[-1], "right")
    counts = places[1:] - places[:-1]
    return counts / (edges[1:] - edges[:-1]).astype(float) / counts.sum() if density else counts


def histogram_edges(xp: Any, self: Any, bins: Any, range: Any, weight: Any, density: bool, increasing: bool = False) -> Any:
    if bins.dtype != self.dtype:
        names = [C_NAMES[BY_NUMPY[a.dtype].name] for a in (self, bins)]
        raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with "
                           f"dtype {names[0]} and bins for dimension 0 with dtype {names[1]}")
    if bins.ndim != 1:
        raise RuntimeError("torch.histogramdd: bins tensor should have one dimension, but got "
                           f"{bins.ndim} dimensions in the bins tensor for dimension 0")
    if not bins.size:
        raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins "
                           "tensor for dimension 0")
    check_histogram(self, weight)
    if increasing and weight is None:
        return counted(xp, wide(self.reshape(-1)), wide(bins), density).astype(self.dtype), bins
    hist = xp.histogram(wide(self.reshape(-1)), wide(bins), weights=None if weight is None else wide(weight.reshape(-1)),
                        density=density)[0]
    return hist.astype(self.dtype), bins


def histogram_count(xp: Any, self: Any, bins: int, range: Any, weight: Any, density: bool) -> Any:
    if range is None and self.size and self.dtype.char not in "fd":
        raise unsupported("histogramdd", self.dtype)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if range is not None and len(range) != 2:
        raise RuntimeError("torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got "
                           f"{len(range)}")
    low, high = range if range is not None else (self.min(), self.max()) if self.size else (0, 1)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension 0")
    if low == high:
        low, high = low - 0.5, high + 0.5
    if self.dtype.kind == "b":
        raise unsupported("linspace_cpu", self.dtype)
    edges = linspace_values(xp, float(low), float(high), bins + 1, self.dtype)
    return histogram_edges(xp, self, edges, None, weight, density, bool(low < high))


# ---- derivatives
class Bins:
    """The bin of each element, and the weight of each bin."""

    def __init__(self, self_: Any, weight: Any, edges: Any) -> None:
        values = self_.detach().reshape(-1)
        bounds = edges.detach()
        last = bounds.shape[0] - 2
        place = late.bucketize(values, bounds, right=True) - 1
        self.inside = (place >= 0).logical_and(values <= bounds[-1])
        self.place = place.clamp(0, last)             # the last bin includes both its edges
        self.widths = edges[1:] - edges[:-1]
        self.total = self.count(late.ones_like(values) if weight is None else weight.reshape(-1)).sum()

    def count(self, weight: Any) -> Any:
        """The sum of the weights in each bin."""
        return self.widths.new_zeros(self.widths.shape).index_add(0, self.place, weight * self.inside)

    def read(self, t: Any) -> Any:
        """The transpose of `count`: for each element the value of its bin."""
        return t.index_select(0, self.place) * self.inside


def histogram_gradients(grads: Any, self: Any, weight: Any, density: bool, hist: Any, edges: Any) -> tuple[Any, Any]:
    """The gradients of the edges and of the weights."""
    grad, for_edges = grads
    for_edges = late.zeros_like(edges) if for_edges is None else for_edges
    if grad is None:
        return for_edges, None
    bins = Bins(self, weight, edges)
    if density:
        shrinking = grad * hist / bins.widths
        outer = shrinking.new_zeros(1)
        for_edges = for_edges + late.cat([shrinking, outer]) - late.cat([outer, shrinking])
        grad = (grad / bins.widths - (grad * hist).sum()) / bins.total
    return for_edges, None if weight is None else bins.read(grad).reshape(weight.shape)


def histogram_tangents(self: Any, edges_t: Any, weight: Any, weight_t: Any, density: bool, hist: Any, edges: Any) -> Any:
    bins = Bins(self, weight, edges)
    made = late.zeros_like(hist) if weight is None else bins.count(weight_t.reshape(-1))
    if density:
        made = (made / bins.widths - hist * made.sum()) / bins.total - hist * (edges_t[1:] - edges_t[:-1]) / bins.widths
    return made, edges_t


def extent_gradient(grad: Any, self: Any, edges: Any, range: Any) -> Any:
    """The gradient of the elements: the edges depend on the smallest and the largest."""
    if range is not None or not self.numel():
        return late.zeros_like(self)
    share = late.linspace(0, 1, edges.shape[0], dtype=edges.dtype, device=edges.device)
    return spread_evenly((grad * (1 - share)).sum(), self, self.detach().amin()) + spread_evenly(
        (grad * share).sum(), self, self.detach().amax())


def extent_tangent(self: Any, self_t: Any, edges: Any, range: Any) -> Any:
    if range is not None or not self.numel():
        return late.zeros_like(edges)
    share = late.linspace(0, 1, edges.shape[0], dtype=edges.dtype, device=edges.device)
    return read_evenly(self_t, self, self.detach().amin()) * (1 - share) + read_evenly(
        self_t, self, self.detach().amax()) * share


def by_edges_gradient(grads: Any, self: Any, weight: Any, density: bool, hist: Any, bin_edges: Any) -> Any:
    return late.zeros_like(self), *histogram_gradients(grads, self, weight, density, hist, bin_edges)


def by_count_gradient(grads: Any, self: Any, range: Any, weight: Any, density: bool, hist: Any, bin_edges: Any) -> Any:
    for_edges, for_weight = histogram_gradients(grads, self, weight, density, hist, bin_edges)
    return extent_gradient(for_edges, self, bin_edges, range), for_weight


def by_count_tangent(self_p: Any, self_t: Any, range: Any, weight_p: Any, weight_t: Any, density: bool, hist: Any,
                     bin_edges: Any) -> Any:
    edges_t = extent_tangent(self_p, self_t, bin_edges, range)
    return histogram_tangents(self_p, edges_t, weight_p, weight_t, density, hist, bin_edges)


OTHER_DTYPE = ("same: torch.histogram: input tensor and {name} tensor should have the same dtype, but got input {c_value} and "
               "{name} {c_out}")
defop(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> "
    "(Tensor hist, Tensor bin_edges)",
    out=OTHER_DTYPE,
    kernel=lambda xp, self, bins, weight, density: histogram_edges(xp, self, bins.copy(), None, weight, density),
    vjp={("self", "bins", "weight"): by_edges_gradient}, batch=families.loop,
    jvp=lambda self_p, bins_t, weight_p, weight_t, density, hist, bin_edges:
        histogram_tangents(self_p, bins_t, weight_p, weight_t, density, hist, bin_edges), traits=("out_untracked",),
)
defop(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> "
    "(Tensor hist, Tensor bin_edges)",
    out=OTHER_DTYPE,
    kernel=histogram_count, vjp={("self", "weight"): by_count_gradient}, jvp=by_count_tangent, batch=families.loop,
    traits=("out_untracked",),
)


# ---- of several dimensions
def check_grid(self: Any, bins: Any, weight: Any) -> None:
    if self.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if len(bins) != self.shape[-1]:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if self.dtype.char not in "fd":
        raise unsupported("histogramdd", self.dtype)
    if weight is not None and weight.dtype != self.dtype:
        names = [C_NAMES[BY_NUMPY[a.dtype].name] for a in (self, weight)]
        raise RuntimeError("torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the "
                           f"same dtype, but got input({names[0]}), and weight({names[1]})")
    if weight is not None and weight.shape != self.shape[:-1]:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                           f"excluding its innermost dimension, but got input with shape {list(self.shape)} and weight with "
                           f"shape {list(weight.shape)}")


def grid_edges_kernel(xp: Any, self: Any, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    """The edges of as many bins as wanted, for each dimension."""
    check_grid(self, bins, weight)
    rank = len(bins)
    if range is not None and len(range) != 2 * rank:
        raise RuntimeError(f"torch.histogramdd: for a {rank}-dimensional histogram range should have {2 * rank} elements, but "
                           f"got {len(range)}")
    points, made = self.reshape(-1, rank), []
    for d, count in enumerate(bins):
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}")
        found = (points[:, d].min(), points[:, d].max()) if len(points) else (0, 1)
        low, high = found if range is None else range[2 * d:2 * d + 2]
        if low > high:
            raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension "
                               f"{d}")
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not finite")
        if low == high:
            low, high = low - 0.5, high + 0.5
        made.append(linspace_values(xp, float(low), float(high), count + 1, self.dtype))
    return made


def grid_counts_kernel(xp: Any, self: Any, bins: Any, weight: Any, density: bool) -> Any:
    """The weight of each bin of a grid with the given edges."""
    check_grid(self, bins, weight)
    points, shape = self.reshape(-1, len(bins)), tuple([len(b) - 1 for b in bins])
    inside, place = lean.ones(len(points), np.bool_), []
    for d, edges in enumerate(bins):
        values = points[:, d]
        inside &= (values >= edges[0]) & (values <= edges[-1])
        found = edges.searchsorted(values, "right") - 1
        place.append(xp.minimum(xp.maximum(found, 0), shape[d] - 1))          # the last bin includes both its edges
    amounts = lean.ones(len(points), self.dtype) if weight is None else weight.reshape(-1)
    made = xp.zeros(shape, self.dtype)
    np.add.at(made, tuple([p[inside] for p in place]), amounts[inside])
    if density:
        made /= made.sum()
        for d, edges in enumerate(bins):
            made /= (edges[1:] - edges[:-1]).reshape((-1,) + (1,) * (len(bins) - d - 1))
    return made


GRID = "float[]? range=None, Tensor? weight=None, bool density=False"
grid_edges = defop(f"_histogramdd_bin_edges(Tensor self, int[] bins, *, {GRID}) -> Tensor[]", kernel=grid_edges_kernel,
                   vjp=NOT_IMPLEMENTED, batch=families.loop, variants="", out=False)
grid_counts = defop(
    "_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor",
    kernel=grid_counts_kernel, vjp=NOT_IMPLEMENTED, batch=families.loop, variants="", out=False)


def grid_of_counts(self: Any, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    edges = call(grid_edges, [self, bins, range, weight, density])
    return histogramdd.result_type(call(grid_counts, [self, edges, weight, density]), tuple(edges))


histogramdd = defop(f"histogramdd(Tensor self, int[] bins, {GRID}) -> (Tensor hist, Tensor[] bin_edges)",
                    kernel=grid_of_counts, composite=True, variants="function", out=False)
histogramdd.prepare()                 # the other overloads share its return type
defop(f"histogramdd.int_bins(Tensor self, int bins, {GRID}) -> (Tensor hist, Tensor[] bin_edges)",
      kernel=lambda self, bins, range, weight, density: grid_of_counts(
          self, [bins] * (self.shape[-1] if self.ndim else 1), range, weight, density),
      composite=True, variants="function", out=False)
defop(f"histogramdd.TensorList_bins(Tensor self, Tensor[] bins, {GRID}) -> (Tensor hist, Tensor[] bin_edges)",
      kernel=lambda self, bins, range, weight, density: histogramdd.result_type(
          call(grid_counts, [self, bins, weight, density]), tuple(bins)),
      composite=True, variants="function", out=False)
