"""Compiled kernels on image windows: convolution, pooling, im2col; None for unsupported arguments."""
from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import matrices, native
from retrograd.core.copying import contiguous, copy_of
from retrograd.core.dtypes import HALVES
from retrograd.ops.linalg.lapack import address_of

GEMM = {"f": "sgemm", "d": "dgemm"}
SINGLE = np.dtype(np.float32)


def of_three(values: Any, filler: int) -> tuple[int, ...]:
    """Settings padded to three dimensions."""
    return (*[filler] * (3 - len(values)), *values)


def settings(batch: int, channels: int, outputs: int, groups: int, sizes: Any, kernel: Any, stride: Any, padding: Any,
             dilation: Any, out: Any) -> tuple[int, ...]:
    return (batch, channels, outputs, groups, *of_three(sizes, 1), *of_three(kernel, 1), *of_three(stride, 1),
            *of_three(padding, 0), *of_three(dilation, 1), *of_three(out, 1))


known_settings = lru_cache(maxsize=512)(settings)


def convolve(what: str, x: Any, weight: Any, y: Any, g: Any, bias: Any = None) -> Any:
    """One of the three products of convolution (`correlate`, `spread`, `match`), with the given result shape and optional
    bias.
    """
    given = [a for a in (x, weight, y) if isinstance(a, np.ndarray)]
    kind = given[0].dtype
    if native is None or kind.char not in GEMM or kind != given[1].dtype:
        return None
    blank = np.zeros if what == "match" else np.empty
    arrays = [contiguous(a) if isinstance(a, np.ndarray) else blank(a, kind) for a in (x, weight, y)]
    x, weight, y = arrays
    if 0 in (x.size, weight.size, y.size):
        return None
    place = "smc".index(what[0])
    bias = bias if bias is None else np.ascontiguousarray(bias)
    described = known_settings(len(x), x.shape[1], y.shape[1], g.groups, x.shape[2:], g.kernel, g.stride, g.padding, g.dilation,
                               y.shape[2:])
    if not one_by_one(x, y, g):
        if weight_bound(x, y, g):
            return by_columns(what[0], x, weight, y, g, bias)
        operands = (y, weight, x) if what == "spread" else (x, weight, y)
        if native.convolve_tiles(*operands, described, what[0], bias) is not None:
            return arrays[place]
    arrays[place][...] = 0
    if native.convolve(x, weight, y, described, address_of(GEMM[kind.char]), what[0]) is None:
        return None
    if bias is not None:
        arrays[place] += bias.reshape((-1,) + (1,) * len(g.kernel))
    return arrays[place]


def one_by_one(x: Any, y: Any, g: Any) -> bool:
    """Whether a product needs no column layout: depthwise, or a one-element kernel over large images."""
    if x.shape[1] == g.groups and y.shape[1] <= 4 * g.groups:
        return True
    return max(g.kernel) == max(g.stride) == 1 and not any(g.padding) and x[0, 0].size >= 512


def weight_bound(x: Any, y: Any, g: Any) -> bool:
    """Whether the outputs are so few that reading the weights takes most of the time."""
    return g.groups == 1 and len(y) * y[0, 0].size <= 4 * y.shape[1] and (len(g.kernel) < 3 or len(y) == 1)


def by_columns(what: str, x: Any, weight: Any, y: Any, g: Any, bias: Any) -> Any:
    """One matrix product for all images of a batch, which stand side by side: they are another dimension of one image.
    Measured, one thread, float32, 4x512x1x1 with 512 filters of 3x3: 0.8 ms, 5.5 ms by tiles, which lay out weights anew.
    """
    batch, joined = len(x), len(x) > 1
    def widest(sizes: Any, filler: int) -> Any:
        return (filler, *sizes) if joined else sizes
    described = known_settings(1, x.shape[1], 1, 1, widest(x.shape[2:], batch), widest(g.kernel, 1), widest(g.stride, 1),
                               widest(g.padding, 0), widest(g.dilation, 1), widest(y.shape[2:], batch))
    flat = weight.reshape(len(weight), -1)
    if what == "s":
        made, between = np.zeros((x.shape[1], batch, *x.shape[2:]), x.dtype), matrices(flat.T, side_by_side(y))
        if native.fold(contiguous(between), made, described) is None:
            return None
    else:
        between = np.empty((flat.shape[1], batch * y[0, 0].size), x.dtype)
        if native.unfold(side_by_side(x), between, described) is None:
            return None
        if what == "m":
            return contiguous(matrices(side_by_side(y), between.T)).reshape(weight.shape)
        made = matrices(flat, between).reshape(len(flat), batch, *y.shape[2:])
    if bias is not None:
        made += bias.reshape(-1, *[1] * (made.ndim - 1))
    if 1 in made.shape[:2]:       # nothing moves; an array made by `swapaxes` would keep odd strides
        return made.reshape(batch, len(made), *made.shape[2:])
    return contiguous(made.swapaxes(0, 1))


def side_by_side(x: Any) -> Any:
    """(batch, channels, *sizes) as a matrix with a row for each channel."""
    return contiguous(x.swapaxes(0, 1)).reshape(x.shape[1], -1)


def channel_sums(x: Any) -> Any:
    """The sum of each channel of (batch, channels, ...); None if unsupported."""
    return None if native is None else native.channel_sums(x)


COPIED = {4: np.dtype(np.float32), 8: np.dtype(np.float64)}      # what elements of a size are copied as


def columns(x: Any, shape: Any, counts: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """The windows of images (..., channels, height, width) as an array of this shape."""
    if native is None or x.dtype.itemsize not in COPIED:
        return None
    dtype, x = x.dtype, contiguous(x).view(COPIED[x.dtype.itemsize])
    made = np.empty(shape, x.dtype)
    channels = x.shape[-3]
    described = settings(math.prod(x.shape[:-3]), channels, 1, 1, x.shape[-2:], kernel, stride, padding, dilation, counts)
    return None if native.unfold(x, made, described) is None else made.view(dtype)


def images(x: Any, shape: Any, counts: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Columns added up to images of this shape."""
    if native is None or x.dtype.char not in GEMM:
        return None
    made = np.zeros(shape, x.dtype)
    described = settings(math.prod(shape[:-3]), shape[-3], 1, 1, shape[-2:], kernel, stride, padding, dilation, counts)
    return None if native.fold(contiguous(x), made, described) is None else made


# ---- pooling
@lru_cache(maxsize=256)
def edges(n: int, kernel: int, stride: int, padding: int, dilation: int, out: int) -> tuple[Any, Any]:
    """The start and end of the windows along one dimension, inside the image."""
    start = np.arange(out) * stride - padding
    end = np.minimum(start + dilation * (kernel - 1) + 1, n)
    inside = np.where(start < 0, start + -(start // dilation) * dilation, start)
    return inside, end


@lru_cache(maxsize=256)
def adapted_edges(n: int, out: int) -> tuple[Any, Any]:
    """`edges` for adaptive windows."""
    place = np.arange(out)
    return place * n // out, -(-(place + 1) * n // out)


def boxes(sizes: Any, steps: Any, windows: Any) -> tuple[Any, Any, Any]:
    """Sizes, steps and edges for three dimensions."""
    whole = (np.zeros(1, np.int64), lean.ones(1, np.int64))
    every = [*[whole] * (3 - len(windows)), *windows]
    return of_three(sizes, 1), of_three(steps, 1), tuple([e for pair in every for e in pair])


def pooled(what: str, x: Any, rank: int, kernel: Any, stride: Any = None, padding: Any = None, dilation: Any = None,
           ceil_mode: bool = False, count_include_pad: bool = False, divisor: Any = None, grad: Any = None) -> Any:
    """Pooling from its settings in one step (see `pool_windows` in core/native); None if unsupported."""
    if native is None or not isinstance(x, np.ndarray):
        return None
    settings = (what, rank, kernel, stride, padding, dilation, ceil_mode, count_include_pad, divisor)
    last = x.ndim == 4 and innermost_channels(x)
    if grad is not None and last and not innermost_channels(grad):
        grad = recast(grad, grad.dtype, True)
    if x.dtype.kind in "iu" and grad is None and not last:
        return pooled_integers(x, settings)
    if x.dtype not in HALVES:
        done = native.pool_windows(x, *settings, grad)
        if done is not None or last or x.flags.c_contiguous:
            return done
        return None if x.ndim > 2 + (rank > 1) else native.pool_windows(
            np.asarray(x, order="C"), *settings, grad if grad is None else np.asarray(grad, order="C"))
    if not last and (not x.flags.c_contiguous or 1 in x.shape):          # the memory order may differ
        return None
    done = native.pool_windows(recast(x, SINGLE, last), *settings, grad if grad is None else recast(grad, SINGLE, last))
    if type(done) is tuple:
        return recast(done[0], x.dtype, last), done[1]
    return done if done is None else recast(done, x.dtype, last)


def pooled_integers(x: Any, settings: Any) -> Any:
    """Pooling of integers as doubles, where these are exact; a mean is rounded toward zero."""
    if not x.ndim or not x.flags.c_contiguous or 1 in x.shape or not x.size:
        return None
    if max(-float(x.min()), float(x.max())) * x[0].size >= 2.0 ** 52:
        return None
    done = native.pool_windows(x.astype(np.float64), *settings, None)
    if type(done) is tuple:
        return done[0].astype(x.dtype), done[1]
    return done if done is None else done.astype(x.dtype)


def innermost_channels(x: Any) -> bool:
    """Whether images are dense with their channels innermost, and no size of 1 leaves that open."""
    return (x.ndim == 4 and not x.flags.c_contiguous and min(x.shape[1:]) > 1 and x.strides[1] == x.itemsize
            and x.transpose(0, 2, 3, 1).flags.c_contiguous)


def recast(x: Any, dtype: Any, last: bool) -> Any:
    """A copy of another dtype, with the channels of images innermost or row-major."""
    return copy_of(x.transpose(0, 2, 3, 1), dtype).transpose(0, 3, 1, 2) if last else copy_of(x, dtype)


def pool(what: str, x: Any, y: Any, third: Any, rank: int, steps: Any, windows: Any) -> bool:
    """Pool `x` into `y` with indices (`x`) or divisors (`m`), or distribute `y` over `x` (`s`); False if unsupported."""
    if native is None or x.dtype.char not in GEMM or not x.size or not y.size:
        return False
    sizes, steps, listed = boxes(x.shape[-rank:], steps, windows)
    described = (math.prod(x.shape[:-rank]), *sizes, *of_three(y.shape[-rank:], 1), *steps)
    return native.pool(x, y, third, described, listed, what) is not None
