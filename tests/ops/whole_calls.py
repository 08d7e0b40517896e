"""Calls of the ops whose kernels are functions of core/native: few elements in odd shapes, strides, sizes and settings."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

Calls = Iterator[tuple[Any, ...]]


def arrays(dtype: Any) -> list[Any]:
    random = np.random.default_rng(5)
    made = [random.integers(-3, 4, shape).astype(dtype) for shape in ((4,), (3, 4), (2, 3, 3), (3, 1), (1, 1), (2, 3, 4, 2))]
    if np.dtype(dtype).kind == "f":
        made[1][1, 2] = made[2][0, 0, 0] = np.nan
        made[3][0] = -np.inf
    return [*made, made[1].T, made[2].transpose(2, 0, 1), made[1][:, ::2], np.zeros((0, 3), dtype), np.asarray(made[0][0])]


def numbers(shape: Any, dtype: Any) -> Any:
    return np.random.default_rng(8).integers(-4, 5, shape).astype(dtype)


def indexed(dtype: Any) -> Calls:
    """Tensors with an index that is as large, smaller, of 32 bits, out of range, and for a tensor of no dimensions."""
    random = np.random.default_rng(7)
    for a in arrays(dtype):
        for dim in (0, -1, 1, 5):
            index = random.integers(0, max(a.shape[dim], 1), a.shape) if -a.ndim <= dim < a.ndim else np.zeros(a.shape, int)
            part = index[tuple([slice(0, max(n - 1, 1)) for n in index.shape])]
            yield from ((a, dim, i) for i in (index, part, index + 9, index.astype(np.int32), part.T))
    yield np.asarray(3, dtype), 0, np.array([0, 0])


def of_scatter(dtype: Any) -> Calls:
    for a, dim, index in indexed(dtype):
        yield a, dim, index, a[..., ::-1].copy() if a.ndim else a
        yield a, dim, index, numbers(index.shape, dtype).T.copy().T


def of_scatter_value(dtype: Any) -> Calls:
    yield from ((*call, value) for call in indexed(dtype) for value in (2, -1.5, 1e30, True, 3j))


def of_scatter_reduce(dtype: Any) -> Calls:
    for call, how, keeps in product(of_scatter(dtype), ("sum", "mean", "prod", "amax", "amin", "x"), (True, False)):
        yield *call, how, keeps


def of_segments(dtype: Any) -> Calls:
    for how, initial in product(("sum", "mean", "prod", "max", "min", "amax", "x"), (None, 0.5, 2)):
        x, three = numbers((6,), dtype), numbers((2, 4, 3), dtype)
        yield x, how, np.array([2, 0, 4]), None, None, 0, False, initial
        yield x, how, None, None, np.array([0, 1, 1, 6]), 0, False, initial
        yield x, how, np.array([2, 3]), None, None, 0, False, initial
        yield three, how, np.array([[1, 3], [4, 0]]), None, None, 1, False, initial
        yield three, how, None, None, np.array([[0, 2, 3], [1, 2, 4]], np.int32), 1, False, initial
        yield three.transpose(0, 2, 1), how, None, None, np.array([[0, 2, 3], [1, 2, 3]]), 1, False, initial


def of_glu(dtype: Any) -> Calls:
    yield from ((a, dim) for a in (*arrays(dtype), numbers((2, 4, 6), dtype)) for dim in (-1, 0, 1))


def of_stacks(dtype: Any) -> Calls:
    found = arrays(dtype)
    yield from (([a, b],) for a in found for b in found if a.ndim == b.ndim or a.size == 1)
    yield ([numbers((2, 3, 4, 5), dtype).transpose(0, 3, 1, 2)] * 2,)
    yield ([found[1], found[1].astype(np.float16)],)


def of_repeat(dtype: Any) -> Calls:
    yield from ((a, r) for a in arrays(dtype) for r in ((2,), (2, 1), (1, 3, 2), (2, 1, 1, 2), (0, 2), (2, -1, 1), ()))


def of_kron(dtype: Any) -> Calls:
    yield from ((a, b) for a in arrays(dtype)[:9] for b in arrays(dtype)[:9] if a.ndim < 4 or b.ndim < 2)
    yield numbers((2, 2), dtype), numbers((2,), np.float16)


def of_pad(dtype: Any) -> Calls:
    amounts = ((1, 2), (0, 1, 2, 0), (2, 2, 1, 1, 1, 0), (0, 0), (-1, 1), (7, 0), (1,), ())
    for a, by, mode in product((*arrays(dtype), numbers((2, 3, 4, 5), dtype).transpose(0, 3, 1, 2)), amounts,
                               ("constant", "reflect", "replicate", "circular", "other")):
        yield from ((a, by, mode, value) for value in ((None, 2.0, 1e30) if mode == "constant" else (None, 1.0)))


def of_edges(rank: int) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        shapes = ((3,), (2, 3), (2, 3, 4), (1, 2, 3, 4), (2, 1, 3, 2, 3))
        for by in ((1,) * 2 * rank, (2, 0) * rank, (0, 9) * rank, (1, 1)):
            yield from ((numbers(shape, dtype), by) for shape in shapes)
    return calls


def kinds(dtype: Any) -> tuple[Any, ...]:
    return (dtype, np.result_type(dtype, np.complex64))


def of_transform(several: bool) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        for kind, shape, norm in product(kinds(dtype), ((4,), (3, 5), (2, 3, 4), (0, 3)), (None, "ortho", "forward", "odd")):
            x = numbers(shape, kind) + (1j * numbers(shape, dtype) if np.dtype(kind).kind == "c" else 0)
            x = x.astype(kind)
            if several:
                forms = ((None, None), (None, (-1,)), ((2,), (0,)), ((6,), None), ((3, 2), (0, -1)), ((-1,), (0,)),
                         (None, (0, 0)))
                yield from ((a, s, d, norm) for a in (x, x.T) for s, d in forms)
            else:
                yield from ((a, n, d, norm) for a in (x, x.T) for n in (None, 1, 3, 7, 0) for d in (-1, 0, 2))
    return calls


def of_bare_transform(name: str) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        for shape, dims, mode in product(((4,), (3, 5), (2, 3, 4)), ((-1,), (0,), (0, -1), ()), (0, 1, 2)):
            x = numbers(shape, dtype) + 1j * numbers(shape, dtype)[::-1]
            x = numbers(shape, dtype) if name == "r2c" else x.astype(kinds(dtype)[1])
            if dims or name == "c2c":
                yield from ((a, dims, mode, last) for a in (x, x.T) for last in ((4, 3) if name == "c2r" else (True, False)))
    return calls


def of_convolution(rank: int) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        for groups, stride, dilation in product((1, 2), (1, 2), (1, 2)):
            x, b = numbers((2, 4, *(5, 4, 6)[:rank]), dtype), numbers((2,), dtype)
            w = numbers((2, 4 // groups, *(2, 3, 1)[:rank]), dtype)
            for padding, bias in product(((0,), (1,), (2, 1, 0)[:rank], (-1,)), (b, None, b[:1])):
                yield x, w, bias, (stride,), padding, (dilation,), groups
            yield x[0], w, b, (stride,), (1,), (dilation,), groups
            yield x.swapaxes(-1, -2), w, b, (stride,), (1,), (dilation,), groups
    return calls


def of_named_padding(rank: int) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        for x, w, b, stride, _, dilation, groups in of_convolution(rank)(dtype):
            yield from ((x, w, b, stride, word, dilation, groups) for word in ("same", "valid", "odd"))
    return calls


def of_transposed(rank: int) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        for groups, stride, dilation in product((1, 2), (1, 3), (1, 2)):
            x, b = numbers((2, 2, *(3, 2, 3)[:rank]), dtype), numbers((2 * groups,), dtype)
            w = numbers((2, 2, *(2, 3, 1)[:rank]), dtype)
            for padding, extra, bias in product((0, 1, (1, 2, 0)[:rank]), (0, 1), (b, None)):
                wide = (padding,) if isinstance(padding, int) else padding
                yield x, w, bias, (stride,), wide, (extra,), groups, (dilation,)
    return calls


def of_any_convolution(dtype: Any) -> Calls:
    for x, w, b, stride, padding, dilation, groups in of_convolution(2)(dtype):
        yield x, w, b, stride, padding, dilation, False, (0,), groups
    for x, w, b, stride, padding, extra, groups, dilation in of_transposed(2)(dtype):
        yield x, w, b, stride, padding, dilation, True, extra, groups


FACTORS = ((1, 1), (0.5, 2), (0, -1), (True, 1), (1j, 1))


def of_sums(*shapes: Any) -> Callable[[Any], Calls]:
    """What is added to a product, and its factors: as they are, in other memory, of sizes that do not fit, with NaN."""
    def calls(dtype: Any) -> Calls:
        owns, first, second = shapes
        for own, (beta, alpha) in product(owns, FACTORS):
            a, b, s = numbers(first, dtype), numbers(second, dtype), numbers(own, dtype)
            yield s, a, b, beta, alpha
            yield s, np.asfortranarray(a), b[::-1], beta, alpha
            yield np.asfortranarray(s), a, b, beta, alpha
            yield s, a[:1], b, beta, alpha
            yield s, a[:0], b, beta, alpha
            yield (s * np.nan if s.dtype.kind == "f" else s), a, b, beta, alpha
    return calls


def of_pairs(first: Any, second: Any) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        a, b = numbers(first, dtype), numbers(second, dtype)
        yield from ((a, b), (np.asfortranarray(a), b[::-1]), (a, b[:1]), (a[:0], b), (a, b.astype(np.float16)), (b, a))
    return calls


def of_quantile(by_number: bool) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        ways = ("linear", "lower", "higher", "midpoint", "nearest", "odd")
        where = product(arrays(dtype), (None, 0, -1, 5), (False, True), ways)
        quantiles = (0.0, 0.3, 1.0, 0.5, 2.0) if by_number else (
            np.asarray(0.25, dtype), np.array([0.1, 0.5, 1.0], dtype), np.array([[0.5]], dtype), np.array([0.5], np.float16))
        yield from ((a, q, dim, keep, way) for a, dim, keep, way in where for q in quantiles)
    return calls


def of_aminmax(dtype: Any) -> Calls:
    yield from product(arrays(dtype), (None, 0, -1, 5), (False, True))


def of_renorm(dtype: Any) -> Calls:
    yield from product(arrays(dtype), (1, 2, 1.5, float("inf"), 0, -1), (0, -1), (2.5, 0, -1))


def of_turns(dtype: Any) -> Calls:
    yield from product(arrays(dtype), (-1, 0, 1, 2, 3, 5), ((0, 1), (1, 0), (0, -1), (0, 0), (0,), (0, 7)))


def of_ctc(as_arrays: bool) -> Callable[[Any], Calls]:
    def calls(dtype: Any) -> Calls:
        x = np.log(np.random.default_rng(9).dirichlet((1.0,) * 4, (6, 2))).astype(dtype)
        for targets, lengths, counts, blank in product(
                (np.array([[1, 2, 2], [3, 3, 1]]), np.array([1, 2, 2, 3, 3]), np.array([[1, 9, 2], [3, 3, 1]])),
                ((6, 5), (6, 0), (6, 7), (6,)), ((3, 2), (0, 3), (3, 4), (3, -1)), (0, 2, 4)):
            both = [np.array(n) if as_arrays else n for n in (lengths, counts)]
            if 9 not in targets:          # labels out of range read other memory in PyTorch
                yield x, targets, *both, blank, False
    return calls


def of_dirichlet_grad(dtype: Any) -> Calls:
    random = np.random.default_rng(9)
    x, a, t = random.uniform(0.05, 0.95, (2, 3)), random.uniform(0.1, 30, (2, 3)), random.uniform(30, 60, (2, 3))
    yield x.astype(dtype), a.astype(dtype), t.astype(dtype)
    yield x.astype(dtype).T, a.astype(dtype).T, t.astype(dtype).T
    yield x.astype(dtype)[0], a.astype(dtype)[0, :1], t.astype(dtype)[0]


def of_levels(kind: str) -> Callable[[Any], Calls]:
    """Fake quantization with levels in range, empty ranges, zero points out of range, NaN and odd strides."""
    def made(dtype: Any) -> Calls:
        x = np.array([[-300.0, -1.6, -0.5, 0.25], [np.nan, 0.75, 2.5, 300.0], [np.inf, -np.inf, 1e30, -0.0]]).astype(
            dtype if np.dtype(dtype).kind == "f" else np.float16)
        views = (x, x.T, x[:, ::2], x[:0], x[0, 0])
        for a, scale, zero, (low, high) in product(views, (0.1, 3.0), (0, 2, -9), ((-4, 5), (3, 1))):
            scales, zeros = np.array([scale], np.float32), np.array([zero])
            if kind == "number":
                yield a, scale, zero, low, high
            elif kind == "tensors":
                yield a, scales, zeros.astype(np.int32), low, high
            elif kind == "enabled":
                yield from ((a, scales, zeros.astype(np.int32), np.array([on]), low, high) for on in (0, 1))
            elif kind == "learned":
                yield from ((a, scales, zeros.astype(np.float32) + shift, low, high, 1.0) for shift in (0, 0.4))
            else:
                for axis, whole in product((0, -1), (True, False)):
                    n = a.shape[axis] if a.ndim else 1
                    each = np.full(n, scale, np.float32) + np.arange(n, dtype=np.float32)
                    points = np.full(n, zero).astype(np.int32) if whole else np.full(n, zero + 0.3, np.float32)
                    yield (a, each, points, axis, low, high, *((1.0,) if kind == "learned channels" else ()))
    return made


def of_histc(dtype: Any) -> Calls:
    ranges = ((0, 0), (-2, 2.5), (2, 1), (0, float("inf")))
    yield from ((a, bins, *ends) for a, bins, ends in product(arrays(dtype), (1, 5, 0), ranges))


def of_runs(dtype: Any) -> Calls:
    yield from product(arrays(dtype), (False, True), (False, True), (None, 0))


CALLS: dict[str, Callable[[Any], Calls]] = {
    "scatter.src": of_scatter, "scatter_add.default": of_scatter, "scatter.value": of_scatter_value,
    "scatter_reduce.two": of_scatter_reduce, "segment_reduce.default": of_segments, "glu.default": of_glu,
    **{f"{name}.default": of_stacks for name in ("hstack", "vstack", "dstack", "column_stack", "row_stack")},
    "repeat.default": of_repeat, "tile.default": of_repeat, "kron.default": of_kron, "pad.default": of_pad,
    **{f"{kind}_pad{rank}d.default": of_edges(rank) for kind in ("reflection", "replication") for rank in (1, 2, 3)},
    **{f"fft_{name}.default": of_transform(name[-1] in "n2") for name in (
        "fft", "ifft", "rfft", "irfft", "hfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")},
    **{f"_fft_{name}.default": of_bare_transform(name) for name in ("c2c", "r2c", "c2r")},
    "convolution.default": of_any_convolution,
    **{f"conv{rank}d.default": of_convolution(rank) for rank in (1, 2, 3)},
    **{f"conv{rank}d.padding": of_named_padding(rank) for rank in (1, 2, 3)},
    **{f"conv_transpose{rank}d.{'input' if rank > 1 else 'default'}": of_transposed(rank) for rank in (1, 2, 3)},
    "addmv.default": of_sums(((2,), (1,), (), (3,)), (2, 3), (3,)),
    "addr.default": of_sums(((2, 3), (3,), (2, 1), (), (4,)), (2,), (3,)),
    "baddbmm.default": of_sums(((2, 3, 2), (2,), (3, 1), (), (4,)), (2, 3, 4), (2, 4, 2)),
    "mv.default": of_pairs((2, 3), (3,)), "vdot.default": of_pairs((4,), (4,)),
    "aminmax.default": of_aminmax, "renorm.default": of_renorm, "rot90.default": of_turns,
    "fake_quantize_per_tensor_affine_cachemask.default": of_levels("number"),
    "fake_quantize_per_tensor_affine.default": of_levels("number"),
    "fake_quantize_per_tensor_affine.tensor_qparams": of_levels("tensors"),
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default": of_levels("enabled"),
    "fake_quantize_per_channel_affine_cachemask.default": of_levels("channels"),
    "fake_quantize_per_channel_affine.default": of_levels("channels"),
    "_fake_quantize_learnable_per_tensor_affine.default": of_levels("learned"),
    "_fake_quantize_learnable_per_channel_affine.default": of_levels("learned channels"),
    "histc.default": of_histc, "unique_consecutive.default": of_runs,
    **{f"{name}.default": lambda dtype: ((a,) for a in arrays(dtype)) for name in ("nonzero", "argwhere")},
    "_ctc_loss.default": of_ctc(False), "_ctc_loss.Tensor": of_ctc(True), "_dirichlet_grad.default": of_dirichlet_grad,
}
# What these compute is rounded in another order than by NumPy.
ROUNDED = tuple(name for name in CALLS if name.startswith((
    "fft_", "_fft_", "conv", "glu", "segment", "add", "badd", "mv", "vdot", "renorm", "_dirichlet")))
