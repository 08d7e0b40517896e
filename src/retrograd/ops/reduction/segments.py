"""Reductions of consecutive segments along a dimension: `torch._segment_reduce`."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes
from retrograd.core.algorithms import native, native_on_copies
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.opdef import defop
from retrograd.core.storage import contiguous_strides
from retrograd.ops import late
from retrograd.ops.memory.copy import meta_array
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import unsupported
from retrograd.ops.shared.families import wrap_dim

NEUTRAL = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}
LONG = {"amax": "max", "amin": "min"}


def check_segments(data: Any, reduce: str, lengths: Any, indices: Any, offsets: Any, axis: int, unsafe: bool) -> None:
    if reduce not in NEUTRAL and reduce not in LONG:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = wrap_dim(axis, data.ndim)
    given, name = (lengths, "lengths") if offsets is None else (offsets, "offsets")
    if given.dtype not in (np.int64, np.int32):
        raise unsupported(f"_segment_reduce_{name}_cpu_kernel1", given.dtype)
    if data.ndim < given.ndim:
        raise RuntimeError(f"Expected data.dim() >= {name}_value.dim() to be true, but got false.")
    if axis != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if offsets is None and not unsafe:
        check_lengths(data, lengths, axis)
    if data.dtype.kind not in "fV":
        raise unsupported("_segment_reduce_cpu", data.dtype)


def check_lengths(data: Any, lengths: Any, axis: int) -> None:
    values = lengths.tolist() if lengths.ndim == 1 else None
    if lengths.size and (lengths.min() if values is None else min(values)) < 0:
        raise RuntimeError("lengths contains negative value!")
    if (lengths.sum(-1) != data.shape[axis]).any() if values is None else sum(values) != data.shape[axis]:
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                           "when !unsafe.")


def bounds(lengths: Any, offsets: Any) -> Any:
    """The segment offsets, including the end of the last one."""
    if offsets is not None:
        return np.asarray(offsets)
    made = np.zeros((*lengths.shape[:-1], lengths.shape[-1] + 1), np.int64)
    lengths.cumsum(-1, out=made[..., 1:])
    return made


def segment_kernel(xp: Any, data: Any, reduce: str, lengths: Any, indices: Any, offsets: Any, axis: int, unsafe: bool,
                   initial: Any) -> Any:
    check_segments(data, reduce, lengths, indices, offsets, axis, unsafe)
    result = native_on_copies(native, "segment_reduce", data, reduce, lengths, indices, offsets, axis, unsafe, initial,
                              halves=True)
    if result is not None:
        return result
    reduce = LONG.get(reduce, reduce)
    places = bounds(lengths, offsets)
    count = places.shape[-1] - 1
    start = NEUTRAL[reduce] if initial is None else float(initial)
    wide = data.astype(xp.float32) if data.dtype.itemsize == 2 else data
    made = xp.empty((*places.shape[:-1], count, *data.shape[places.ndim:]), wide.dtype)
    combine = {"sum": xp.add, "mean": xp.add, "max": xp.maximum, "min": xp.minimum, "prod": xp.multiply}[reduce]
    for row in np.ndindex(*places.shape[:-1]) if places.ndim > 1 else ((),):
        ends = places[row].tolist()
        for i in range(count):
            first, last = ends[i], ends[i + 1]
            if last < first:
                raise RuntimeError("Expected segment_length >= 0 to be true, but got false.")
            if last == first:
                made[(*row, i)] = math.nan if reduce == "mean" and initial is None else start
                continue
            value = combine(combine.reduce(wide[(*row, slice(first, last))], 0), wide.dtype.type(start))
            made[(*row, i)] = value / wide.dtype.type(last - first) if reduce == "mean" else value
    return made.astype(data.dtype, copy=False)


def segment_meta(xp: Any, data: Any, reduce: str, lengths: Any, indices: Any, offsets: Any, axis: int, *rest: Any) -> Any:
    count = lengths.shape[-1] if offsets is None else offsets.shape[-1] - 1
    axis = wrap_dim(axis, data.ndim)
    shape = (*data.shape[:axis], count, *data.shape[axis + 1:])
    return meta_array(shape, contiguous_strides(shape), data.dtype)


def segments_of(data: Any, lengths: Any, offsets: Any) -> tuple[Any, Any, int]:
    """The segment number of each element (the count of segments for elements outside), and the segment lengths.

    Written with ops, so that examples of a batch may have segments of their own.
    """
    sizes = offsets.diff() if lengths is None else lengths
    axis, count = sizes.ndim - 1, sizes.shape[-1]
    ends = offsets.narrow(-1, 1, count) if lengths is None else lengths.cumsum(-1)
    size = data.shape[axis]
    passed = late.scatter_add(late.zeros((*ends.shape[:-1], size + 1), dtype=dtypes.int64, device=data.device), -1,
                              ends.to(dtypes.int64).clamp(max=size), late.ones_like(ends, dtype=dtypes.int64))
    where = passed.cumsum(-1).narrow(-1, 0, size)       # how many segments end at or before a position
    if lengths is None:
        position = late.arange(size, device=data.device)
        where = late.where(position < offsets.narrow(-1, 0, 1), count, where)
    for _ in range(data.ndim - axis - 1):
        where, sizes = where.unsqueeze(-1), sizes.unsqueeze(-1)
    return where.expand(data.shape), sizes, axis


def spread(values: Any, where: Any, axis: int) -> Any:
    """The value of each element's segment, 0 for elements outside."""
    pad = [0] * (2 * (values.ndim - axis))
    pad[-1] = 1
    return late.constant_pad_nd(values, pad).gather(axis, where)


def segment_gradient(grad: Any, result: Any, data: Any, reduce: str, lengths: Any, offsets: Any, axis: int,
                     initial: Any) -> Any:
    return call(segment_backward, [grad, result, data, reduce, lengths, offsets, axis, initial])


def segment_backward_tensors(grad: Any, output: Any, data: Any, reduce: str, lengths: Any, offsets: Any, axis: int,
                             initial: Any) -> Any:
    reduce = LONG.get(reduce, reduce)
    where, sizes, axis = segments_of(data, lengths, offsets)
    if reduce in ("sum", "mean"):
        return spread(grad if reduce == "sum" else grad / sizes.to(grad.dtype), where, axis)
    if reduce == "prod":
        return spread(grad, where, axis) * others(data, where, output, axis, reduce, lengths, offsets, initial)
    winner = (data == spread(output, where, axis)) | data.isnan()
    ties = late.zeros_like(late.constant_pad_nd(output, [*[0] * (2 * (output.ndim - axis) - 1), 1])).scatter_add(
        axis, where, winner.to(data.dtype)).narrow(axis, 0, output.shape[axis])
    return spread(grad / ties.clamp(min=1), where, axis) * winner


def others(data: Any, where: Any, output: Any, axis: int, reduce: str, lengths: Any, offsets: Any, initial: Any) -> Any:
    """The product of the other elements of an element's segment."""
    zero = data == 0
    counts = call(segment_reduce, [zero.to(data.dtype), "sum", lengths, None, offsets, axis, True, None])
    zeros = spread(counts, where, axis)
    rest = spread(call(segment_reduce, [data.masked_fill(zero, 1), reduce, lengths, None, offsets, axis, True, initial]),
                  where, axis)
    whole = spread(output, where, axis) / data.masked_fill(zero, 1)
    return late.where(zeros == 0, whole, late.where(zero & (zeros == 1), rest, late.zeros_like(rest)))


def segment_tangent(data_p: Any, data_t: Any, result: Any, reduce: str, lengths: Any, offsets: Any, axis: int,
                    initial: Any) -> Any:
    """The tangent: each element contributes to its own segment only, by the gradient's coefficient."""
    share = segment_backward_tensors(late.ones_like(result), result, data_p, reduce, lengths, offsets, axis, initial)
    return call(segment_reduce, [share * data_t, "sum", lengths, None, offsets, axis, True, None])


OPTIONS = ("Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, "
           "Scalar? initial=None")
segment_reduce = defop(
    f"segment_reduce(Tensor data, str reduce, *, {OPTIONS}) -> Tensor",
    kernel=segment_kernel, meta=segment_meta, vjp=dict(data=segment_gradient), jvp=segment_tangent,
    batch=families.loop, variants="function", out=False, lower="@native.segment_reduce",
)
segment_backward = defop(
    "_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, "
    "Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor",
    kernel=segment_backward_tensors, composite=True, variants="", out=False,
    out_form="out",
)
expose(segment_reduce.packet, name="_segment_reduce", method=False)
