"""Kernels of ops that are one function of core/native give what the kernels over NumPy give, errors too."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.fast_kernels import ALGORITHM
from retrograd.core.opdef import OPS, find_packet
from retrograd.core.recipe import choose_kernel_calls
from retrograd.ops.load import import_all
from retrograd.ops.reduction import statistics
from tests.ops.whole_calls import CALLS, ROUNDED, arrays, of_quantile

import_all()
NAMES = sorted(f"{op.name}.{op.overload}" for packet in list(OPS.values()) for op in packet.overloads_
               if str(op.lower).startswith(ALGORITHM) and op.functional is None and not op.schema.is_inplace)


def spd(dtype: Any) -> Iterator[Any]:
    random = np.random.default_rng(6)
    for shape in ((3, 3), (2, 3, 3), (1, 1), (2, 0, 3, 3)):
        a = random.standard_normal(shape).astype(dtype)
        yield a @ a.swapaxes(-1, -2) + 3 * np.eye(shape[-1], dtype=dtype)
    yield np.asfortranarray(random.standard_normal((4, 4)).astype(dtype))
    yield np.full((2, 2), np.nan, dtype)
    yield np.zeros((2, 3), dtype)


def calls(name: str, dtype: Any) -> Iterator[tuple[Any, ...]]:
    if name in CALLS:
        yield from CALLS[name](dtype)
        return
    stem = name.partition(".")[0]
    random = np.random.default_rng(7)
    if stem in ("linalg_cholesky_ex", "linalg_lu_factor_ex"):
        yield from ((a, flag, check) for a in spd(dtype) for flag in (False, True) for check in (False, True))
    elif stem == "linalg_solve_triangular":
        for a in spd(dtype):
            for upper, left, unit in ((True, True, False), (False, False, True), (False, True, True)):
                yield a, random.standard_normal(a.shape).astype(dtype), upper, left, unit
                yield a, np.ones((*a.shape[:-2], a.shape[-1], 2), dtype), upper, left, unit
    elif stem.startswith("grid_sampler"):
        rank = 2 if stem.endswith("2d") else 3
        x, grid = np.ones((2, 1, *(3,) * rank), dtype), random.uniform(-2, 2, (2, *(2,) * rank, rank)).astype(dtype)
        for g in (grid, grid[:1]):
            yield from ((x * grid.sum(), g, mode, padding, True) for mode in (0, 1, 2) for padding in (0, 1, 2))
    elif stem in ("searchsorted", "bucketize"):
        bounds, x = np.array([-1, 0, 0, 2], dtype), random.integers(-3, 4, (2, 3))
        for kind in (dtype, np.float32, np.int64):
            for right in (False, True):
                yield (bounds, x.astype(kind), False, right, None, None) if stem == "searchsorted" else (
                    x.astype(kind), bounds, False, right)
        if stem == "searchsorted":
            yield np.stack([bounds, bounds - 1]), x.astype(dtype), False, True, None, None
            yield bounds, x.astype(dtype), True, False, "right", None
    else:
        for a in arrays(dtype):
            for dim in (0, -1, 1, 5):
                index = random.integers(0, max(a.shape[dim], 1), a.shape) if -a.ndim <= dim < a.ndim else np.zeros(a.shape, int)
                if stem == "gather":
                    yield from ((a, dim, i, False) for i in (index, index + 9, index.astype(np.int32)))
                elif stem in ("tril", "triu"):
                    yield a, dim
                elif stem == "logcumsumexp":
                    yield a, dim
                else:
                    dims = (dim, None) if stem.startswith("arg") else (dim,)
                    yield from ((a, d, keep) for d in dims for keep in (False, True))


def outcome(op: Any, args: Any) -> Any:
    """What a call gives: errors in their words, results with their dtypes, shapes, strides and values."""
    def tensor(a: Any) -> Any:
        return torch.from_numpy(a) if isinstance(a, np.ndarray) else [tensor(b) for b in a] if isinstance(a, list) else a
    try:
        made = op(*[tensor(a) for a in args])
    except Exception as error:
        return (type(error), str(error)), []
    results = made if isinstance(made, tuple) else (made,)
    return [(t.dtype, tuple(t.shape), t.stride()) for t in results], [t.resolve_conj().numpy() for t in results]


def is_same(first: Any, second: Any, name: str) -> bool:
    """Whether two outcomes are equal in every bit, or nearly so where numbers are added in another order."""
    if first[0] != second[0]:
        return False
    if name not in ROUNDED:
        return [a.tobytes() for a in first[1]] == [a.tobytes() for a in second[1]]
    limits = {4: 3e-6, 8: 1e-12}
    return all([np.allclose(a, b, limits[a.real.itemsize], limits[a.real.itemsize] * 10, equal_nan=True)
                for a, b in zip(first[1], second[1], strict=True)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_does_what_the_one_over_numpy_does(name: str, dtype: Any) -> None:
    stem, _, overload = name.partition(".")
    op = getattr(find_packet(stem), overload)
    if not op._ready:
        op.prepare()
    native, params = op.native, op.schema.params
    keywords = [p.name for p in params if p.kwarg_only]

    def call(*args: Any) -> Any:
        count = len(args) - len(keywords)
        return op(*args[:count], **dict(zip(keywords, args[count:], strict=True)))
    for args in calls(name, dtype):
        expected = outcome(call, args)
        op.native = None
        choose_kernel_calls(op)
        try:
            made = outcome(call, args)
            assert is_same(made, expected, name), ([getattr(a, "shape", a) for a in args], made, expected)
        finally:
            op.native = native
            choose_kernel_calls(op)


@pytest.mark.parametrize("by_number", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("function", [torch.quantile, torch.nanquantile])
def test_quantiles_at_once_are_those_of_the_ops(function: Any, dtype: Any, by_number: bool,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    def call(self: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
        made = function(self, q, dim, keepdim, interpolation=interpolation)
        return made, torch.tensor(made._version)
    for args in of_quantile(by_number)(dtype):
        made = outcome(call, args)
        with monkeypatch.context() as patch:
            patch.setattr(statistics, "native", None)
            expected = outcome(call, args)
        assert is_same(made, expected, "renorm.default"), ([getattr(a, "shape", a) for a in args], made, expected)
