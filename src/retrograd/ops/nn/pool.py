"""Pooling: the maximum or the mean of windows, of fixed size or adapted to a wanted output size.

NOTE [Separable means]
An adaptive mean over a box is the mean along each dimension in turn, so it is one small matrix per dimension; its backward
applies the transposed matrices. Windows of fixed size are strided views of the padded input.
"""
from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.copying import contiguous, copy_into
from retrograd.core.deterministic import alert
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import bump, new_tensor
from retrograd.ops import late
from retrograd.ops.memory.copy import channels_last_strides
from retrograd.ops.nn.pool_checks import (
    check_adaptive,
    check_counts,
    check_filled,
    check_one,
    check_rank_of_one,
    check_windows,
    widened,
)
from retrograd.ops.shared import families, geometry
from retrograd.ops.shared.along import put_elements
from retrograd.ops.shared.dtype_checks import takes
from retrograd.ops.shared.elementwise import unsupported
from retrograd.ops.shared.images import adapted_edges, edges, pool, pooled


def packed(array: Any) -> Any:
    """A contiguous array, with regular strides even where a size is 1."""
    if not array.size:
        return lean.namespace_of(array).empty(array.shape, array.dtype)
    return array.copy() if 1 in array.shape or not array.flags.c_contiguous else array


def following(array: Any, source: Any, rank: int = 2) -> Any:
    """The array in channels-last format if the source, with `rank` spatial dimensions, is."""
    if rank == 1 or not channels_last(source, rank):
        return array
    made = geometry.new_beside(array, array.shape, channels_last_strides(array.shape), array.dtype)
    copy_into(made, array)
    return made


def row_major(xp: Any, array: Any) -> Any:
    return contiguous(array) if xp is np else xp.ascontiguousarray(array)


def image_order(rank: int, array: Any, source: Any) -> Any:
    """Like `following`, for ops that keep channels last for images but not for volumes."""
    return following(array, source) if rank == 2 else array


def channels_last(array: Any, rank: int = 2) -> bool:
    """Whether images or volumes are channels-last; the strides decide where sizes of 1 make it ambiguous."""
    return (array.ndim == rank + 2 and (not array.flags.c_contiguous or 1 in array.shape[2:])
            and bool(geometry.channels_last_like(array)))


def output_size(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """The number of windows; with `ceil_mode` the last may extend beyond the input if it starts inside."""
    size = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
    return size - 1 if ceil_mode and (size - 1) * s >= n + p else size


class Windows:
    """The settings of a pooling op, for inputs with `rank` pooled dimensions at the end."""

    def __init__(self, rank: int, shape: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
                 kind: str = "") -> None:
        self.rank = rank
        self.known: dict[Any, Any] = {}
        self.kernel, self.padding, self.dilation = (widened(v, rank) for v in (kernel, padding, dilation))
        self.stride = widened(stride, rank) if isinstance(stride, int) or len(stride) else self.kernel
        self.sizes = tuple(shape[-rank:])
        self.lead = tuple(shape[:-rank])
        if kind:
            check_windows(kind, rank, shape, self.kernel, self.stride, self.padding, self.dilation)
        self.output = tuple([output_size(*values, ceil_mode) for values in
                             zip(self.sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)])
        if kind and min(self.output) < 1:
            ranked, made = ("x".join(map(str, [shape[-rank - 1], *sizes])) for sizes in (self.sizes, self.output))
            raise RuntimeError(f"Given input size: ({ranked}). Calculated output size: ({made}). Output size is too small")

    def divisors(self, count_include_pad: bool, divisor_override: Any, dtype: Any) -> Any:
        """The divisor of each window's sum, as a read-only, possibly cached array."""
        key = count_include_pad, divisor_override, dtype
        made = self.known.get(key)
        if made is None:
            made = self.known[key] = everywhere(np, divisors(np, self, count_include_pad, divisor_override, dtype), self)
        return made

    def edges(self) -> list[Any]:
        """The start and end of the windows inside the image, along each dimension."""
        return [edges(*values) for values in
                zip(self.sizes, self.kernel, self.stride, self.padding, self.dilation, self.output, strict=True)]

    def padded(self, xp: Any, array: Any, value: Any) -> Any:
        """A new array with `value` around the given one, as far as the windows reach."""
        known: Any = self.known.get("padded")
        if known is None:
            reach = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in
                     zip(self.output, self.stride, self.dilation, self.kernel, strict=True)]
            known = self.known["padded"] = (
                (*self.lead, *[max(r, n + p) for r, n, p in zip(reach, self.sizes, self.padding, strict=True)]),
                (..., *[slice(p, p + n) for p, n in zip(self.padding, self.sizes, strict=True)]))
        shape, inside = known
        made = lean.full(shape, value, array.dtype) if xp is np else xp.full(shape, value, array.dtype)
        made[inside] = array
        return made

    def of(self, xp: Any, padded: Any) -> Any:
        """The windows as (*lead, *output, *kernel)."""
        steps = padded.strides[-self.rank:]
        strides = (*padded.strides[:-self.rank], *[s * t for s, t in zip(steps, self.stride, strict=True)],
                   *[s * d for s, d in zip(steps, self.dilation, strict=True)])
        return lean.strided(padded, (*self.lead, *self.output, *self.kernel), strides)

    def places(self) -> Any:
        """`places_of` the windows; None if they are too many to keep, or one lies outside."""
        if "places" not in self.known:
            along = [[[i for i in range(o * s - p, o * s - p + d * k, d) if 0 <= i < n] for o in range(count)]
                     for count, n, k, s, p, d in
                     zip(self.output, self.sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)]
            few = math.prod(self.output) * math.prod(self.kernel) <= MOST_PLACES
            self.known["places"] = places_of(self.sizes, along) if few else None
        return self.known["places"]



MOST_PLACES = 1 << 14


def places_of(sizes: Any, along: Any) -> Any:
    """The elements of each window, as indices into an image of these sizes, and where each window's begin; `along` has the
    places inside the image, for each dimension and window. Shorter windows have their first element several times. None if
    one has none."""
    if not all([window for windows in along for window in windows]):
        return None
    rows = [[0]]
    for n, windows in zip(sizes, along, strict=True):
        rows = [[i * n + k for i in row for k in window] for row in rows for window in windows]
    longest = max([len(row) for row in rows])
    made = np.array([[row[0]] * (longest - len(row)) + row for row in rows], np.int64)
    return made, np.arange(len(rows)) * longest


def can_look_up(array: Any) -> bool:
    return type(array) in lean.ARRAYS and bool(array.dtype.isbuiltin)


def chosen(xp: Any, array: Any, output: Any, places: Any) -> Any:
    """The largest element of each window and its index (see `places_of`): the first of equal ones, the last of NaNs."""
    table, starts = places
    lead = array.shape[:array.ndim - len(output)]
    count = math.prod(lead)
    picked = array.reshape(count, -1).take(table, 1)
    best = picked.argmax(-1)
    values = xp.maximum.reduce(picked, -1)
    if array.dtype.kind == "f":
        blank = values != values
        if xp.logical_or.reduce(blank, None):
            last = table.shape[1] - 1 - (picked != picked)[..., ::-1].argmax(-1)
            best = xp.where(blank, last, best)
            values = xp.take_along_axis(picked, best[..., None], -1)[..., 0]
    best += starts
    return values.reshape(*lead, *output), table.take(best).reshape(*lead, *output)


@lru_cache(maxsize=512)
def settled(*settings: Any) -> Windows:
    """`Windows` cached by settings; invalid settings are checked again."""
    return Windows(*settings)


def windows(rank: int, shape: Any, *settings: Any) -> Windows:
    return settled(rank, shape, *[tuple(v) if isinstance(v, list) else v for v in settings])


# ---- the maximum
def max_pool_kernel(rank: int) -> Any:
    def kernel(xp: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
        done = pooled("x", self, rank, kernel_size, stride, padding, dilation, ceil_mode)
        if done is not None:
            return done
        check_counts("max", rank, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation)
        w = windows(rank, self.shape, kernel_size, stride, padding, dilation, ceil_mode, "max")
        if self.dtype.kind in "bc":
            raise unsupported(f"max_pool{rank}d", self.dtype)
        made, index = xp.empty((*w.lead, *w.output), self.dtype), xp.empty((*w.lead, *w.output), xp.int64)
        if pool("x", row_major(xp, self), made, index, rank, w.dilation, w.edges()):
            return following(made, self, rank), following(index, self, rank)
        places = w.places() if made.size and can_look_up(self) else None
        if places is not None:
            values, index = chosen(xp, self, w.output, places)
            return following(values, self, rank), following(index, self, rank)
        least = -xp.inf if self.dtype.kind in "fV" else xp.iinfo(self.dtype).min
        flat = w.of(xp, w.padded(xp, self, least)).reshape(*w.lead, *w.output, math.prod(w.kernel))
        # the first of equal elements is chosen, but never padding, even against -inf
        inside = w.of(xp, w.padded(xp, xp.ones(self.shape, bool), False)).reshape(flat.shape)
        best = xp.where(inside, flat, least).argmax(-1)
        if self.dtype.kind == "f":
            blank = lean.flip(flat != flat, -1)
            best = xp.where(blank.any(-1), flat.shape[-1] - 1 - blank.argmax(-1), best)      # the last of several NaNs
        lost = ~xp.take_along_axis(inside, best[..., None], -1)[..., 0]
        best = xp.where(lost, inside.argmax(-1), best)
        values = xp.take_along_axis(flat, best[..., None], -1)[..., 0]
        places = xp.unravel_index(best, w.kernel)
        index = xp.zeros(best.shape, xp.int64)
        for d in range(rank):
            start = xp.arange(w.output[d]).reshape([-1 if i == d else 1 for i in range(rank)]) * w.stride[d] - w.padding[d]
            index = index * w.sizes[d] + start + places[d] * w.dilation[d]
        return following(packed(values), self, rank), following(packed(index), self, rank)
    return kernel


def flat_gather(t: Any, indices: Any, rank: int) -> Any:
    """The elements of `t` at indices into its last `rank` dimensions as one."""
    lead, sizes, places = t.shape[:-rank], math.prod(t.shape[-rank:]), math.prod(indices.shape[-rank:])
    return t.reshape((*lead, sizes)).gather(-1, indices.reshape((*lead, places))).reshape(indices.shape)


def scatter_kernel(xp: Any, grad_output: Any, self: Any, indices: Any, rank: int) -> Any:
    if grad_output.dtype.kind not in "fV":
        raise unsupported(f"max_pool{rank}d_backward", grad_output.dtype)
    lead = math.prod(self.shape[:-rank])
    made = xp.zeros((lead, math.prod(self.shape[-rank:])), grad_output.dtype)
    places = math.prod(indices.shape[-rank:])
    if put_elements(made, indices.reshape(lead, places), grad_output.reshape(lead, places), 1, "+"):
        return made.reshape(self.shape)
    xp.add.at(made, (xp.arange(lead)[:, None], indices.reshape(lead, places)), grad_output.reshape(lead, places))
    return made.reshape(self.shape)


def zero_like(grad: Any) -> Any:
    return late.zeros_like(grad)


def max_pool_rows(rank: int) -> Any:
    window = (f"int[{rank}] kernel_size, int[{rank}] stride=[], int[{rank}] padding=0, int[{rank}] dilation=1, "
              "bool ceil_mode=False")
    settings = f"int[{rank}] kernel_size, int[{rank}] stride, int[{rank}] padding, int[{rank}] dilation, bool ceil_mode"
    name = f"max_pool{rank}d_with_indices"
    backward = defop(
        f"{name}_backward(Tensor grad_output, Tensor self, {settings}, Tensor indices) -> Tensor",
        kernel=lambda xp, grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices:
            following(scatter_kernel(xp, grad_output, self, indices, rank), self, rank),
        vjp=dict(grad_output=lambda grad, indices: flat_gather(grad, indices, rank), self=zero_like),
        jvp=lambda grad_output_t, self_p, kernel_size, stride, padding, dilation, ceil_mode, indices:
            call(backward, [grad_output_t, self_p, kernel_size, stride, padding, dilation, ceil_mode, indices]),
        batch=families.folded, widen=True, variants="", node=f"MaxPool{rank}DWithIndicesBackwardBackward0",
        pattern=("last", rank),
    )
    forward = defop(
        f"{name}(Tensor self, {window}) -> (Tensor, Tensor)",
        kernel=max_pool_kernel(rank), node=f"MaxPool{rank}DWithIndicesBackward0",
        vjp=dict(self=lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1:
                 call(backward, [grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1])),
        jvp=lambda self_t, result1: (flat_gather(self_t, result1, rank), zero_like(result1)),
        batch=families.folded, widen=True, variants="", pattern=("choices", rank), out_form="out(out, indices)",
    )
    defop(f"max_pool{rank}d(Tensor self, {window}) -> Tensor",
          kernel=lambda self, *settings: call(forward, [self, *settings])[0], composite=True, variants="function", out=False,
          autocast="float32" if rank == 3 else None)
    return forward


max_pool2d_with_indices, max_pool3d_with_indices = max_pool_rows(2), max_pool_rows(3)


def check_max_pool1d(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> None:
    shape = tuple(self.shape)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
                           f"got:{list(shape)}")
    for name, value in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding), ("dilation", dilation)):
        if not isinstance(value, int) and len(value) != 1 and not (name == "stride" and not len(value)):
            none, comma = "None, " * (name == "stride"), "," * (name in ("stride", "padding"))
            raise RuntimeError(f"max_pool1d() {name} must be {none}an int, list of ints{comma} or tuple of ints of size 1 but "
                               f"got size {len(value)}")
    k, p, d = (widened(v, 1)[0] for v in (kernel_size, padding, dilation))
    s = widened(stride, 1)[0] if isinstance(stride, int) or len(stride) else k
    for name, value, least in (("kernel_size", k, 1), ("stride", s, 1), ("padding", p, 0), ("dilation", d, 1)):
        if value < least:
            raise RuntimeError(f"max_pool1d() {name} must be {'greater than zero' if least else 'non-negative'}, but got "
                               f"{value}")
        if name == "padding" and p > k // 2:
            raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and "
                               f"kernel_size={k}")
    size = output_size(shape[-1], k, s, p, d, ceil_mode)
    if size <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {size}")


def unrecorded(what: str, self: Any, *settings: Any) -> Any:
    """One-dimensional pooling of a plain tensor without recording; None for other calls."""
    if not is_ordinary(self) or families.will_differentiate(self):
        return None
    return pooled(what, self.array, 1, *settings)


def max_pool1d_pair(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    done = unrecorded("x", self, kernel_size, stride, padding, dilation, ceil_mode)
    if done is not None:
        return new_tensor(done[0]), new_tensor(done[1])
    check_rank_of_one("max_pool1d", self.ndim)
    check_one("max_pool1d", kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation)
    k, s, p, d = (widened(v, 1) if isinstance(v, int) or len(v) else () for v in (kernel_size, stride, padding, dilation))
    values, indices = call(max_pool2d_with_indices, [self.unsqueeze(-2), (1, *k), (1, *s) if s else (), (0, *p), (1, *d),
                                                     ceil_mode])
    return values.squeeze(-2), indices.squeeze(-2)


WINDOW1 = "int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False"
defop(f"max_pool1d_with_indices(Tensor self, {WINDOW1}) -> (Tensor, Tensor)", kernel=max_pool1d_pair, composite=True,
      variants="function", out=False)


def max_pool1d(self: Any, *settings: Any) -> Any:
    done = unrecorded("x", self, *settings) if self.dtype.is_floating_point else None
    if done is not None:
        made = new_tensor(np.ascontiguousarray(done[0]))
        if self.ndim == 2:
            bump(made)                   # PyTorch removes the batch dimension in place
        return made
    check_max_pool1d(self, *settings)
    if self.array.dtype.kind not in "fV" and not families.will_differentiate(self):      # has its own kernel
        raise unsupported("max_pool1d_impl", self.array.dtype)
    result = max_pool1d_pair(self, *settings)[0]
    if not families.will_differentiate(self):
        if is_ordinary(result):
            result = new_tensor(np.ascontiguousarray(result.array))
        if self.ndim == 2:
            bump(result)
    return result


defop(f"max_pool1d(Tensor self, {WINDOW1}) -> Tensor", kernel=max_pool1d, composite=True, variants="function", out=False)


# ---- the mean
def divisors(xp: Any, w: Windows, count_include_pad: bool, divisor_override: Any, dtype: Any) -> Any:
    """The divisor of each window's sum."""
    if divisor_override is not None:
        return xp.asarray(divisor_override, dtype)
    total = lean.ones((), xp.int64)
    for d in range(w.rank):
        start = xp.arange(w.output[d]) * w.stride[d] - w.padding[d]
        end = xp.minimum(start + w.kernel[d], w.sizes[d] + w.padding[d])
        if not count_include_pad:
            start, end = xp.maximum(start, 0), xp.minimum(end, w.sizes[d])
        total = total[..., None] * (end - start)
    return total.astype(dtype)


def everywhere(xp: Any, divisor: Any, w: Windows) -> Any:
    """The divisors expanded to one for each window."""
    return xp.ascontiguousarray(lean.broadcast_to(divisor, w.output))


def divided(xp: Any, total: Any, count: Any) -> Any:
    """The mean, rounded towards zero for integers."""
    mean = total / xp.asarray(count)
    return mean if mean.dtype == total.dtype else xp.trunc(mean).astype(total.dtype)


def avg_pool_kernel(rank: int) -> Any:
    def kernel(xp: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
               divisor_override: Any) -> Any:
        done = pooled("m", self, rank, kernel_size, stride, padding, None, ceil_mode, count_include_pad, divisor_override)
        if done is not None:
            return done
        check_counts("avg", rank, kernel_size=kernel_size, stride=stride, padding=padding)
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        w = windows(rank, self.shape, kernel_size, stride, padding, 1, ceil_mode, "avg")
        divisor = w.divisors(count_include_pad, divisor_override, self.dtype)
        made = xp.empty((*w.lead, *w.output), self.dtype)
        if pool("m", row_major(xp, self), made, divisor, rank, (1,) * rank, w.edges()):
            return image_order(rank, made, self)
        total = w.of(xp, w.padded(xp, self, 0)).sum(tuple(range(-rank, 0)))
        return image_order(rank, packed(divided(xp, total, divisor)), self)
    return kernel


def avg_pool_backward_kernel(rank: int) -> Any:
    def kernel(xp: Any, grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
               count_include_pad: bool, divisor_override: Any) -> Any:
        done = pooled("s", self, rank, kernel_size, stride, padding, None, ceil_mode, count_include_pad, divisor_override,
                      grad_output)
        if done is not None:
            return done
        w = windows(rank, self.shape, kernel_size, stride, padding, 1, ceil_mode)
        divisor = w.divisors(count_include_pad, divisor_override, grad_output.dtype)
        made = xp.zeros(self.shape, grad_output.dtype)
        if pool("s", made, row_major(xp, grad_output), divisor, rank, (1,) * rank, w.edges()):
            return image_order(rank, made, self)
        share = divided(xp, grad_output, divisor)
        made = w.padded(xp, xp.zeros(self.shape, grad_output.dtype), 0)
        for place in product(*map(range, w.kernel)):
            window = tuple([slice(k, k + (o - 1) * s + 1, s) for k, o, s in zip(place, w.output, w.stride, strict=True)])
            made[(..., *window)] += share
        inside = tuple([slice(p, p + n) for p, n in zip(w.padding, w.sizes, strict=True)])
        return image_order(rank, packed(made[(..., *inside)]), self)
    return kernel


def avg_pool_rows(rank: int) -> Any:
    rest = "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None"
    settings = (f"int[{rank}] kernel_size, int[{rank}] stride, int[{rank}] padding, bool ceil_mode, bool count_include_pad, "
                "int? divisor_override")
    columns: Any = dict(batch=families.folded, widen=True, pattern=("last", rank))
    # only the two-dimensional kernels support half precision
    letters, suffix = ("FHL", "") if rank == 2 else ("FL", "_out_frame")
    backward = defop(
        f"avg_pool{rank}d_backward(Tensor grad_output, Tensor self, {settings}) -> Tensor",
        kernel=avg_pool_backward_kernel(rank), check=takes(f"avg_pool{rank}d_backward{suffix}", letters),
        node=f"AvgPool{rank}DBackwardBackward0",
        vjp=dict(grad_output=lambda grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
                 call(forward, [grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override]),
                 self=zero_like),
        jvp=lambda grad_output_t, self_p, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
            call(backward, [grad_output_t, self_p, kernel_size, stride, padding, ceil_mode, count_include_pad,
                            divisor_override]),
        variants="", **columns)
    forward = defop(
        f"avg_pool{rank}d(Tensor self, int[{rank}] kernel_size, int[{rank}] stride=[], int[{rank}] padding=0, {rest}) -> "
        "Tensor",
        kernel=avg_pool_kernel(rank), check=takes(f"avg_pool{rank}d{suffix}", letters), node=f"AvgPool{rank}DBackward0",
        jvp="linear", variants="", autocast="float32" if rank == 3 else None,
        vjp=dict(self=lambda grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: call(
            backward, [grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override])), **columns)
    return forward


avg_pool2d, avg_pool3d = avg_pool_rows(2), avg_pool_rows(3)


def avg_pool1d_tensor(self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool) -> Any:
    done = unrecorded("m", self, kernel_size, stride, padding, None, ceil_mode, count_include_pad)
    if done is not None:
        return new_tensor(done)
    check_rank_of_one("avg_pool1d", self.ndim)
    check_one("avg_pool1d", kernel_size=kernel_size, stride=stride, padding=padding)
    k, p = widened(kernel_size, 1), widened(padding, 1)
    s = widened(stride, 1) if isinstance(stride, int) or len(stride) else ()
    return call(avg_pool2d, [self.unsqueeze(-2), (1, *k), (1, *s) if s else (), (0, *p), ceil_mode, count_include_pad,
                             None]).squeeze(-2)


defop("avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, "
      "bool count_include_pad=True) -> Tensor", kernel=avg_pool1d_tensor, composite=True, variants="function", out=False)


# ---- adapted to an output size
def bins(n: int, out: int) -> list[tuple[int, int]]:
    return [(i * n // out, -((-(i + 1) * n) // out)) for i in range(out)]


@lru_cache(maxsize=256)
def adapted_places(sizes: Any, output: Any) -> Any:
    """`places_of` adaptive windows; None if they are too many to keep."""
    if math.prod(sizes) + math.prod(output) > MOST_PLACES:
        return None
    return places_of(sizes, [[range(start, end) for start, end in bins(n, o)] for n, o in zip(sizes, output, strict=True)])


@lru_cache(maxsize=256)
def bin_sizes(sizes: Any, output: Any, dtype: Any) -> Any:
    """The number of elements of each bin."""
    total = lean.ones((), dtype)
    for n, out in zip(sizes, output, strict=True):
        total = total[..., None] * np.array([end - start for start, end in bins(n, out)], dtype)
    return total


@lru_cache(maxsize=256)
def averaging(n: int, out: int, dtype: Any) -> Any:
    """The matrix that takes the means of `out` bins of `n` elements."""
    made = np.zeros((out, n), dtype)
    for i, (start, end) in enumerate(bins(n, out)):
        made[i, start:end] = 1 / (end - start)
    return made


def through_matrices(xp: Any, array: Any, matrices: Any) -> Any:
    """Apply one matrix to each of the last dimensions."""
    rank = len(matrices)
    for d, matrix in enumerate(matrices):
        axis, matrix = array.ndim - rank + d, xp.asarray(matrix)
        last = lean.moveaxis(array, axis, -1)
        rows = last.reshape(math.prod(last.shape[:-1]), last.shape[-1])
        mixed = xp.dot(rows, matrix.T).reshape(*last.shape[:-1], len(matrix))
        if not math.isfinite(xp.add.reduce(mixed, None)):      # infinities and NaNs must not spread through zero weights
            for i, columns in enumerate(matrix != 0):
                mixed[..., i] = last[..., columns] @ matrix[i, columns]
        array = lean.moveaxis(mixed, -1, axis)
    return packed(array)


def adaptive_avg_rows(rank: int) -> Any:
    suffix = "" if rank == 2 else "_cpu"

    def matrices(sizes: Any, output: Any, dtype: Any) -> Any:
        return [averaging(n, o, dtype) for n, o in zip(sizes, output, strict=True)]

    def backward_kernel(xp: Any, grad_output: Any, self: Any) -> Any:
        done = pooled("S", self, rank, grad_output.shape[-rank:], grad=grad_output)
        if done is not None:
            return done
        check_filled(f"adaptive_avg_pool{rank}d_backward", "grad_output", grad_output.shape)
        sizes, output = self.shape[-rank:], grad_output.shape[-rank:]
        spread = xp.zeros(self.shape, grad_output.dtype)
        share = row_major(xp, grad_output)
        if share.size and pool("s", spread, share, bin_sizes(sizes, output, spread.dtype), rank, (1,) * rank,
                               [adapted_edges(n, o) for n, o in zip(sizes, output, strict=True)]):
            return image_order(rank, spread, self)
        made = matrices(self.shape[-rank:], grad_output.shape[-rank:], grad_output.dtype)
        return image_order(rank, through_matrices(xp, grad_output, [m.T for m in made]), self)

    def forward_kernel(xp: Any, self: Any, output_size: Any) -> Any:
        done = pooled("M", self, rank, output_size)
        if done is not None:
            return done
        output = widened(output_size, rank)
        check_adaptive("avg", rank, self.shape, output)
        sizes = self.shape[-rank:]
        made = xp.empty((*self.shape[:-rank], *output), self.dtype)
        if made.size and pool("m", row_major(xp, self), made, bin_sizes(sizes, output, made.dtype), rank, (1,) * rank,
                              [adapted_edges(n, o) for n, o in zip(sizes, output, strict=True)]):
            return image_order(rank, made, self)
        return image_order(rank, through_matrices(xp, self, matrices(self.shape[-rank:], output, self.dtype)), self)

    backward = defop(
        f"_adaptive_avg_pool{rank}d_backward(Tensor grad_output, Tensor self) -> Tensor",
        kernel=backward_kernel,
        vjp=dict(grad_output=lambda grad, grad_output_sym_sizes: call(forward, [grad, tuple(grad_output_sym_sizes[-rank:])]),
                 self=zero_like),
        jvp=lambda grad_output_t, self_p: call(backward, [grad_output_t, self_p]),
        batch=families.folded, widen=True, variants="", node=f"AdaptiveAvgPool{rank}DBackwardBackward0",
        check=takes(f"adaptive_avg_pool{rank}d_backward{suffix}", "FH"), pattern=("last", rank),
        out_form="out",
    )
    forward = defop(
        f"_adaptive_avg_pool{rank}d(Tensor self, SymInt[{rank}] output_size) -> Tensor",
        kernel=forward_kernel,
        vjp=dict(self=lambda grad, self: call(backward, [grad, self])), jvp="linear",
        batch=families.folded, widen=True, variants="", node=f"AdaptiveAvgPool{rank}DBackward0",
        check=takes(f"adaptive_avg_pool{rank}d{suffix}", "FH"), pattern=("last", rank),
    )

    def public(self: Any, output_size: Any) -> Any:
        if not isinstance(output_size, int) and len(output_size) != rank:
            raise RuntimeError(f"adaptive_avg_pool{rank}d: output_size must be {rank}")
        output_size = widened(output_size, rank)
        if min(output_size) < 0:
            told = ", ".join(map(str, output_size[:2])) + "".join([f",{n}" for n in output_size[2:]])
            raise RuntimeError(f"adaptive_avg_pool{rank}d: elements of output_size must be greater than or equal to 0 but "
                               f"received {{{told}}}")
        if output_size == (1,) * rank:
            made = self.mean(tuple(range(-1, -rank - 1, -1)), True)
            return made.as_strided(made.shape, channels_last_strides(made.shape)) if channels_last(self.array, rank) else made
        return call(forward, [self, output_size])
    defop(f"adaptive_avg_pool{rank}d(Tensor self, SymInt[{rank}] output_size) -> Tensor", kernel=public, composite=True,
          variants="", out=False, autocast="float32" if rank == 3 else None)
    return public


adaptive_avg_pool2d, adaptive_avg_pool3d = adaptive_avg_rows(2), adaptive_avg_rows(3)


def adaptive_avg_pool1d(self: Any, output_size: Any) -> Any:
    check_rank_of_one("adaptive_avg_pool1d", self.ndim)
    check_one("adaptive_avg_pool1d", output_size=output_size)
    return adaptive_avg_pool2d(self.unsqueeze(-2), (1, *widened(output_size, 1))).squeeze(-2)


defop("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", composite=True, variants="function", out=False,
      kernel=adaptive_avg_pool1d)


def adaptive_max_rows(rank: int) -> OpDef:
    name, node = f"adaptive_max_pool{rank}d", f"AdaptiveMaxPool{rank}D"

    def kernel(xp: Any, self: Any, output_size: Any) -> Any:
        done = pooled("X", self, rank, output_size)
        if done is not None:
            return done
        sizes, lead, output = self.shape[-rank:], self.shape[:-rank], widened(output_size, rank)
        check_adaptive("max", rank, self.shape, output)
        values, indices = xp.empty((*lead, *output), self.dtype), xp.empty((*lead, *output), xp.int64)
        windows = [adapted_edges(n, o) for n, o in zip(sizes, output, strict=True)]
        if pool("x", row_major(xp, self), values, indices, rank, (1,) * rank, windows):
            return image_order(rank, values, self), image_order(rank, indices, self)
        known = adapted_places(sizes, output) if values.size and can_look_up(self) else None
        if known is not None:
            values, indices = chosen(xp, self, output, known)
            return image_order(rank, values, self), image_order(rank, indices, self)
        boxes = [list(enumerate(bins(n, o))) for n, o in zip(sizes, output, strict=True)]
        for places in product(*boxes):
            at = tuple([place for place, _ in places])
            box = self[(..., *[slice(start, end) for _, (start, end) in places])]
            flat = box.reshape(*lead, math.prod(box.shape[-rank:]))
            best = flat.argmax(-1)
            if self.dtype.kind == "f":
                blank = lean.flip(flat != flat, -1)
                best = xp.where(blank.any(-1), flat.shape[-1] - 1 - blank.argmax(-1), best)
            values[(..., *at)] = xp.take_along_axis(flat, best[..., None], -1)[..., 0]
            index = xp.zeros(best.shape, xp.int64)
            for inner, (_, (start, _)), n in zip(xp.unravel_index(best, box.shape[-rank:]), places, sizes, strict=True):
                index = index * n + inner + start
            indices[(..., *at)] = index
        return image_order(rank, values, self), image_order(rank, indices, self)

    def backward_kernel(xp: Any, grad_output: Any, self: Any, indices: Any) -> Any:
        check_filled(f"{name}_backward", "grad_output", grad_output.shape)
        return image_order(rank, scatter_kernel(xp, grad_output, self, indices, rank), self)

    backward = defop(
        f"{name}_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
        kernel=backward_kernel,
        check=takes(f"{name}_backward", "FH"),
        vjp=dict(grad_output=lambda grad, indices: flat_gather(grad, indices, rank), self=zero_like),
        jvp=lambda grad_output_t, self_p, indices: call(backward, [grad_output_t, self_p, indices]),
        batch=families.folded, widen=True, variants="", node=f"{node}BackwardBackward0", pattern=("last", rank),
    )
    return defop(
        f"{name}(Tensor self, int[{rank}] output_size) -> (Tensor, Tensor)", kernel=kernel, node=f"{node}Backward0",
        check=takes(f"{name}_cpu" if rank == 3 else name, "FH"),
        vjp=dict(self=lambda grad, self, result1: call(backward, [grad, self, result1])), batch=families.folded,
        jvp=lambda self_t, result1: (flat_gather(self_t, result1, rank), zero_like(result1)), widen=True, variants="",
        autocast="float32" if rank == 3 else None, pattern=("choices", rank), out_form="out(out, indices)",
    )


adaptive_max_pool2d, adaptive_max_pool3d = adaptive_max_rows(2), adaptive_max_rows(3)


def adaptive_max_pool1d_pair(self: Any, output_size: Any) -> Any:
    check_rank_of_one("adaptive_max_pool1d", self.ndim)
    check_one("adaptive_max_pool1d", output_size=output_size)
    check_filled("adaptive_max_pool1d", "input", self.shape)
    values, indices = call(adaptive_max_pool2d, [self.unsqueeze(-2), (1, *widened(output_size, 1))])
    return values.squeeze(-2), indices.squeeze(-2)


defop("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", kernel=adaptive_max_pool1d_pair,
      composite=True, variants="function", out=False)


# ---- max unpooling
def max_unpool_rows(rank: int) -> OpDef:
    words = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}[rank]

    def kernel(xp: Any, self: Any, indices: Any, output_size: Any, *windows: Any) -> Any:
        if indices.dtype != xp.int64:
            told = f" but got: {BY_NUMPY[indices.dtype].legacy}" if rank == 2 else ""
            raise RuntimeError(f"elements in indices should be type int64{told}")
        if len(output_size) != rank:
            raise RuntimeError(f"There should be exactly {words} in output_size, but got {len(output_size)} elements.")
        if self.ndim not in (rank + 1, rank + 2):
            raise RuntimeError(f"Input to max_unpooling{rank}d should be a {rank + 1}d or {rank + 2}d Tensor, but got a tensor "
                               f"with {self.ndim} dimensions.")
        if self.shape != indices.shape:
            raise RuntimeError("Expected shape of indices to be same as that of the input tensor "
                               f"({list(self.shape)}) but got indices tensor with shape: {list(indices.shape)}")
        if rank == 2 and 0 in self.shape[1:]:
            raise RuntimeError("max_unpooling2d_forward_out_cpu(): Expected input to have non-zero size for non-batch "
                               f"dimensions, but got {list(self.shape)} with dimension {self.shape.index(0, 1)} being empty.")
        if self.dtype.kind not in "fV":
            raise unsupported(f"max_unpool{rank}d", self.dtype)
        count, lead = math.prod(output_size), self.shape[:-rank]
        outside = (indices < 0) | (indices >= count)
        if outside.any():
            raise RuntimeError(f"Found an invalid max index: {indices[outside][0]} (output volumes are of size "
                               f"{'x'.join(map(str, output_size))})")
        made = xp.zeros((math.prod(lead), count), self.dtype)
        made[xp.arange(len(made))[:, None], indices.reshape(len(made), math.prod(self.shape[-rank:]))] = (
            self.reshape(len(made), math.prod(self.shape[-rank:])))
        made = made.reshape(*lead, *output_size)
        return following(made, self) if rank == 2 else made

    windows = "" if rank == 2 else ", int[3] stride, int[3] padding"
    return defop(
        f"max_unpool{rank}d(Tensor self, Tensor indices, SymInt[{rank}] output_size{windows}) -> Tensor", kernel=kernel,
        check=lambda *args: alert(f"max_unpooling{rank}d_forward_out"),
        vjp=dict(self=lambda grad, indices: flat_gather(grad, indices, rank)), jvp=put_back(rank), batch=families.folded,
        variants="", node=f"MaxUnpool{rank}DBackward0", autocast="float32", pattern=("last", rank),
    )


def put_back(rank: int) -> Any:
    if rank == 2:
        return lambda self_t, indices, output_size: call(max_unpool2d, [self_t, indices, output_size])
    return lambda self_t, indices, output_size, stride, padding: call(
        max_unpool3d, [self_t, indices, output_size, stride, padding])


max_unpool2d, max_unpool3d = max_unpool_rows(2), max_unpool_rows(3)
