"""Resizing images and sequences: nearest, linear in one, two and three dimensions, cubic in two, and pixel shuffling.

Every kind combines a few inputs along each dimension, a sparse matrix (see NOTE [Separable means] in pool.py), and backward
applies the transpose.
"""
from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native
from retrograd.core.copying import contiguous
from retrograd.core.dispatch import call
from retrograd.core.opdef import defop
from retrograd.ops.nn.pool import following, packed, through_matrices
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import takes
from retrograd.ops.shared.images import innermost_channels

SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


def step(n: int, out: int, scale: Any) -> float:
    return 1 / scale if scale is not None and scale > 0 else n / out


# The kinds of resizing as sparse matrices: parallel arrays of outputs, inputs and weights.
def nearest(n: int, out: int, scale: Any, exact: bool, dtype: Any) -> Any:
    """The input under each output."""
    size = np.float32(step(n, out, scale))
    places = np.arange(out, dtype=np.float32)
    source = np.floor((places + np.float32(0.5)) * size if exact else places * size).astype(np.int64)
    return np.arange(out), np.minimum(source, n - 1), np.ones(out, dtype)


def linear(n: int, out: int, scale: Any, align_corners: bool, dtype: Any) -> Any:
    """The two nearest inputs."""
    work: Any = np.float64 if dtype == np.float64 else np.float32
    places: Any = np.arange(out).astype(work)
    if align_corners:
        source = places * work((n - 1) / (out - 1) if out > 1 else 0)
    else:
        source = np.maximum((places + work(0.5)) * work(step(n, out, scale)) - work(0.5), work(0))
    low = np.minimum(source.astype(np.int64), n - 1)
    high = np.minimum(low + 1, n - 1)
    share = np.clip(source - low, 0, 1).astype(dtype)
    share[high == low] = 0
    return np.tile(np.arange(out), 2), np.concatenate([low, high]), np.concatenate([1 - share, share])


def places_of(n: int, out: int, scale: Any, align_corners: bool, work: Any) -> Any:
    """The positions of the outputs in input coordinates, possibly outside."""
    places: Any = np.arange(out).astype(work)
    if align_corners:
        return places * work((n - 1) / (out - 1) if out > 1 else 0)
    return (places + work(0.5)) * work(step(n, out, scale)) - work(0.5)


def bump(x: Any, a: float) -> Any:
    """The cubic that is 1 at 0 and 0 at all other integers."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def hat(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def ripple(x: Any) -> Any:
    """Lanczos' window of three waves."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


def cubic(n: int, out: int, scale: Any, align_corners: bool, dtype: Any) -> Any:
    """The four nearest inputs; missing ones at the ends repeat the last."""
    work: Any = np.float64 if dtype == np.float64 else np.float32
    source = places_of(n, out, scale, align_corners, work)
    first = np.floor(source)
    taps = range(-1, 3)
    return (np.tile(np.arange(out), 4), np.concatenate([np.clip(first.astype(np.int64) + tap, 0, n - 1) for tap in taps]),
            np.concatenate([bump(source - first - tap, -0.75).astype(dtype) for tap in taps]))


def smoothed(kernel: Any, width: int) -> Any:
    """The antialiased form: kernels widened to the step, with normalised weights."""
    def mixture(n: int, out: int, scale: Any, align_corners: bool, dtype: Any) -> Any:
        work: Any = np.float64 if dtype == np.float64 else np.float32
        size = float(work((n - 1) / (out - 1) if out > 1 else 0)) if align_corners else float(work(step(n, out, scale)))
        reach, shrink = (width / 2 * size, 1 / size) if size >= 1 else (width / 2, 1.0)
        rows, places, shares = [], [], []
        for i in range(out):
            center = size * (i + 0.5)
            start, end = max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), n)
            weights = kernel((np.arange(start, end) - center + 0.5) * shrink)
            total = weights.sum()
            rows.append(np.full(end - start, i))
            places.append(np.arange(start, end))
            shares.append((weights / total if total else weights).astype(dtype))
        return np.concatenate(rows), np.concatenate(places), np.concatenate(shares)
    return mixture


@lru_cache(maxsize=64)
def plan(mixture: Any, n: int, out: int, scale: Any, align_corners: Any, dtype: Any) -> Any:
    """The arguments of `mix` in core/native for resizing, and for its transpose."""
    rows, places, weights = mixture(n, out, scale, align_corners, dtype)
    kept = weights != 0
    rows, places, weights = rows[kept], places[kept], weights[kept]

    def sorted_by(keys: Any, others: Any, count: int) -> Any:
        order = np.argsort(keys, kind="stable")
        start = np.searchsorted(keys[order], np.arange(count + 1)).astype(np.int32)
        return start, others[order].astype(np.int32), weights[order]
    return sorted_by(rows, places, out), sorted_by(places, rows, n)


def as_matrix(mixture: Any, n: int, out: int, scale: Any, align_corners: Any, dtype: Any) -> Any:
    rows, places, weights = mixture(n, out, scale, align_corners, dtype)
    made = np.zeros((out, n), dtype)
    np.add.at(made, (rows, places), weights)
    return made


def mixed(array: Any, plans: Any, sizes: Any) -> Any:
    """The array resized along its last dimensions; None without compiled code. Growing dimensions are resized last."""
    if native is None or array.dtype.char not in "fd" or not array.size:
        return None
    rank = len(sizes)
    grows = math.prod(sizes) >= math.prod(array.shape[-rank:])
    last = rank == 2 and innermost_channels(array)
    array = array.transpose(0, 2, 3, 1) if last else contiguous(array)
    for d in reversed(range(rank)) if grows else range(rank):
        axis = array.ndim - rank + d - last
        made = np.empty((*array.shape[:axis], sizes[d], *array.shape[axis + 1:]), array.dtype)
        if native.mix(array, made, *plans[d], axis) is None:
            return None
        array = made
    return array.transpose(0, 3, 1, 2) if last else array


def check_sizes(rank: int, shape: Any, output_size: Any) -> tuple[int, ...]:
    """The wanted sizes, one for each dimension of the image."""
    output = (output_size,) if isinstance(output_size, int) else tuple(output_size)
    if len(output) != rank:
        raise RuntimeError(f"It is expected output_size equals to {rank}, but got size {len(output)}")
    if len(shape) != rank + 2:
        raise RuntimeError(f"It is expected input_size equals to {rank + 2}, but got size {len(shape)}")
    given = tuple(shape[2:])
    if min(given) <= 0 or min(output) <= 0:
        told, wanted = (", ".join([f"{d}: {n}" for d, n in zip("DHW"[3 - rank:], sizes, strict=True)])
                        for sizes in (given, output))
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({told}) "
                           f"{'and ' if rank == 1 else ''}output ({wanted})")
    return output


def bytes_through_matrices(xp: Any, array: Any, matrices: Any) -> Any:
    """Resizing of bytes with 16-bit weights, as in PyTorch and Pillow: rounded after each dimension, the last one first.

    The weights of a dimension are multiples of the same power of two, the smallest that keeps the largest below 2 ** 15. Sums
    of products are integers below 2 ** 53, so that float64 has them exactly.
    """
    for d in range(1, len(matrices) + 1):
        weights, bits = matrices[-d], 0
        while bits < 22 and int(0.5 + max(weights.max(), 0) * (1 << bits + 1)) < 1 << 15:
            bits += 1
        scaled = weights * (1 << bits)
        whole = xp.trunc(scaled + xp.where(scaled < 0, -0.5, 0.5))
        mixed = lean.moveaxis(xp.tensordot(array.astype(xp.float64), whole, ([array.ndim - d], [1])), -1, array.ndim - d)
        array = xp.clip(xp.floor((mixed + (1 << bits >> 1)) / (1 << bits)), 0, 255).astype(xp.uint8)
    return packed(array)


def unexpected(rank: int, d: int, shape: Any, expected: Any) -> str:
    """The error for a gradient of the wrong shape."""
    if rank > 1 and len(shape) != rank + 2:
        return f"Expected grad_output to be a tensor of dimension {rank + 2} but got: dimension {len(shape)}"
    if rank == 1:
        size = shape[d] if d < len(shape) else 0
        return (f"Expected a tensor of dimension {rank + 2} and tensor.size[{d}] == {expected[d]} but got: dimension "
                f"{len(shape)} and tensor.size[{d}] = {size}")
    return (f"Expected grad_output to have the same shape as output; output.size({d}) = {expected[d]} but got "
            f"grad_output.size({d}) = {shape[d]}")


def rows(name: str, rank: int, corners: bool, mixture: Any, node: str, checks: tuple[Any, Any] = (None, None)) -> Any:
    """Declare an upsampling op, its backward, and the overload that takes scale factors as a list."""
    scales = SCALES[rank]
    align = ", bool align_corners" if corners else ""
    tail = "".join(f", float? {s}=None" for s in scales)

    def each(make: Any, sizes: Any, output: Any, rest: Any, dtype: Any) -> Any:
        align_corners, factors = (rest[0], rest[1:]) if corners else (None, rest)
        return [make(mixture, n, o, f, align_corners, dtype) for n, o, f in zip(sizes, output, factors, strict=True)]

    def forward_kernel(xp: Any, self: Any, output_size: Any, *rest: Any) -> Any:
        sizes = check_sizes(rank, self.shape, output_size)
        if 0 in self.shape[1:]:
            raise RuntimeError(f"Non-empty {rank + 2}D data tensor expected but got a tensor with sizes {list(self.shape)}")
        if self.dtype == xp.uint8 and corners:
            made = each(as_matrix, self.shape[-rank:], sizes, rest, np.float64)
            return following(bytes_through_matrices(xp, self, made), self, rank)
        if native is not None and type(self) is np.ndarray:
            made = mixed(self, [forth for forth, _ in each(plan, self.shape[-rank:], sizes, rest, self.dtype)], sizes)
            if made is not None:
                return made if innermost_channels(made) else following(made, self, rank)
        return following(through_matrices(xp, self, each(as_matrix, self.shape[-rank:], sizes, rest, self.dtype)), self, rank)

    def backward_kernel(xp: Any, grad_output: Any, output_size: Any, input_size: Any, *rest: Any) -> Any:
        sizes = check_sizes(rank, input_size, output_size)
        expected = (*input_size[:2], *sizes)
        for d in range(rank + 2):
            if grad_output.ndim != rank + 2 or grad_output.shape[d] != expected[d]:
                raise RuntimeError(unexpected(rank, d, grad_output.shape, expected))
        if native is not None and type(grad_output) is np.ndarray:
            made = mixed(grad_output, [back for _, back in each(plan, input_size[-rank:], sizes, rest, grad_output.dtype)],
                         input_size[-rank:])
            if made is not None:
                return made if innermost_channels(made) else following(made, grad_output, rank)
        made = each(as_matrix, input_size[-rank:], sizes, rest, grad_output.dtype)
        return following(through_matrices(xp, grad_output, [m.T for m in made]), grad_output, rank)

    arguments = ", ".join((["align_corners"] if corners else []) + list(scales))
    scope: dict[str, Any] = {"call": call}
    backward = defop(
        f"{name}_backward(Tensor grad_output, SymInt[{rank}] output_size, SymInt[{rank + 2}] input_size{align}{tail}) -> "
        "Tensor",
        kernel=backward_kernel, check=checks[1] or takes(f"{name}_backward", "FH"), jvp="linear", batch=families.folded,
        widen=True, variants="",
        node=node.replace("Backward0", "BackwardBackward0"), pattern=("last", rank),
        vjp=dict(grad_output=eval(f"lambda grad, output_size, {arguments}: call(forward[0], [grad, output_size, {arguments}])",
                                  scope)))
    scope["backward"] = backward
    kind = "linear" if corners else "nearest"
    refusal = takes(f"upsample_{'bi' * corners}{kind}2d_channels_last" if rank == 2 else f"compute_indices_weights_{kind}",
                    "FH" if corners and rank != 2 else "FHU")
    forward = defop(
        f"{name}(Tensor self, SymInt[{rank}] output_size{align}{tail}) -> Tensor",
        kernel=forward_kernel, check=checks[0] or refusal, jvp="linear", batch=families.folded, widen=True, variants="",
        node=node, pattern=("last", rank),
        vjp=dict(self=eval(f"lambda grad, self_sym_sizes, output_size, {arguments}: "
                           f"call(backward, [grad, output_size, self_sym_sizes, {arguments}])", scope)))
    scope["forward"] = [forward]

    def by_list(input: Any, output_size: Any, *rest: Any) -> Any:
        align_corners, factors = (rest[:1], rest[1]) if corners else ((), rest[0])
        if (output_size is None) == (factors is None):
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        given, listed = ("output_size", output_size) if factors is None else ("scale_factors", factors)
        if len(listed) != input.ndim - 2:
            raise RuntimeError(f"Expected static_cast<int64_t>({given}->size()) == spatial_dimensions to be true, but got "
                               f"false.  (Could this error message be improved?  If so, please report an enhancement request "
                               f"to PyTorch.)\n{given} has {len(listed)} numbers for an input of {input.ndim} dimensions, the "
                               "last of which, from the third on, are resized.")
        if output_size is None:
            sizes = [math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors, strict=True)]
            if len(factors) < rank:
                raise RuntimeError(f"ArrayRef: invalid index Index = {len(factors)}; Length = {len(factors)}")
        else:
            sizes = list(output_size)
        return call(forward, [input, sizes, *align_corners, *(factors or [None] * rank)])
    defop(f"{name}.vec(Tensor input, SymInt[]? output_size{align}, float[]? scale_factors) -> Tensor", kernel=by_list,
          composite=True, variants="", out=False)
    return forward


def nearest_down(n: int, out: int, scale: Any, align_corners: Any, dtype: Any) -> Any:
    return nearest(n, out, scale, False, dtype)


def nearest_exact(n: int, out: int, scale: Any, align_corners: Any, dtype: Any) -> Any:
    return nearest(n, out, scale, True, dtype)


for rank in (1, 2, 3):
    rows(f"upsample_nearest{rank}d", rank, False, nearest_down, f"UpsampleNearest{rank}DBackward0")
    rows(f"_upsample_nearest_exact{rank}d", rank, False, nearest_exact, f"UpsampleNearestExact{rank}DBackward0")
for kind, rank in (("Linear", 1), ("Bilinear", 2), ("Trilinear", 3)):
    rows(f"upsample_{kind.lower()}{rank}d", rank, True, linear, f"Upsample{kind}{rank}DBackward0")
rows("upsample_bicubic2d", 2, True, cubic, "UpsampleBicubic2DBackward0",
     (takes("compute_indices_weights_cubic", "FHU"), takes("upsample_bicubic2d_backward", "FH")))
for kind, form, width in (("Bilinear", hat, 2), ("Bicubic", lambda x: bump(x, -0.5), 4), ("Lanczos", ripple, 6)):
    name = f"upsample_{kind.lower()}2d_aa"
    rows(f"_{name}", 2, True, smoothed(form, width), f"Upsample{kind}2DAaBackward0",
         (takes("compute_index_ranges_weights", "FU"), takes(f"{name}_backward_cpu", "F")))
