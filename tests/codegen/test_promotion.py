"""Operands of several dtypes meet in the loop itself; conversions, scans and fills take every dtype and layout."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import fast_kernels
from retrograd.core.kernels import run_kernel
from retrograd.core.opdef import find_packet
from retrograd.core.tensor import new_tensor

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool)
compiled = pytest.mark.skipif(fast_kernels.native is None, reason="there are no compiled loops")


def find(name: str, overload: str = "default") -> Any:
    op = getattr(find_packet(name), overload)
    if not op._ready:
        op.prepare()
    return op


def reference(op: Any, args: list[Any]) -> Any:
    """What the op gives without its kernel: the array, or the error's type."""
    kernel, op.native = op.native, None
    try:
        with np.errstate(all="ignore"):
            return np.asarray(run_kernel(op, args, [a.array if isinstance(a, torch.Tensor) else a for a in args]))
    except (RuntimeError, NotImplementedError) as error:
        return type(error)
    finally:
        op.native = kernel


def wide(array: Any) -> Any:
    return array.astype(np.float64)


@compiled
@pytest.mark.parametrize("name, overload", [("add", "Tensor"), ("sub", "Tensor"), ("mul", "Tensor"), ("div", "Tensor"),
                                            ("eq", "Tensor"), ("maximum", "default"), ("fmod", "Tensor"), ("atan2", "default")])
def test_kernels_promote_operands_as_the_reference_does(name: str, overload: str) -> None:
    op = find(name, overload)
    rest = [1] if name in ("add", "sub") else []
    taken = set()
    for first, second in itertools.product(DTYPES, DTYPES):
        for a, b in (((2, 3), (2, 3)), ((2, 3), ()), ((), (2, 3)), ((), ()), ((2, 3), (3,)), ((2, 1), (1, 3))):
            x = torch.tensor(np.arange(int(np.prod(a)), dtype=np.float64).reshape(a) % 5).to(first)
            y = torch.tensor(np.arange(int(np.prod(b)), dtype=np.float64).reshape(b) % 3 + 1).to(second)
            made = op.native(x.array, y.array, *rest)
            if made is None:
                continue
            wanted = reference(op, [x, y, *rest])
            assert made.dtype == wanted.dtype, (first, second, a, b)
            assert made.strides == wanted.strides
            tolerance = 1e-6 if made.dtype.itemsize > 2 else 1e-2
            np.testing.assert_allclose(wide(made), wide(wanted), tolerance, tolerance)
            taken.add((first, second))
    assert {(torch.int32, torch.float32), (torch.float32, torch.float64)} <= taken


@compiled
def test_integers_become_the_default_dtype_in_the_loop() -> None:
    op = find("sin")
    x = np.arange(6).reshape(2, 3)
    for dtype in (torch.float64, torch.float32):
        torch.set_default_dtype(dtype)
        try:
            for array in (x, x.T, x.astype(np.uint8), x > 2):
                made = op.native(array)
                assert made.dtype == dtype.numpy
                assert made.strides == tuple([s // array.itemsize * made.itemsize for s in array.strides])
                np.testing.assert_allclose(made, np.sin(array.astype(np.float64)), 1e-6)
        finally:
            torch.set_default_dtype(torch.float32)


def test_single_values_of_half_and_single_precision_meet_in_single() -> None:
    half, single = torch.tensor(1.0, dtype=torch.bfloat16), torch.tensor(3.0)
    assert (half / single).dtype is (half * single).dtype is torch.float32
    assert (half.expand(2) / single).dtype is torch.bfloat16


@pytest.mark.parametrize("first", DTYPES)
def test_conversions_keep_values_and_memory_order(first: Any) -> None:
    values = np.arange(24).reshape(2, 3, 4) % (2 if first is torch.bool else 24)
    base = new_tensor(np.asarray(values.astype(first.numpy)))
    for second in DTYPES:
        for x in (base, base.permute(2, 0, 1), base[:, :, ::2], base[:1].expand(2, 3, 4), base[0, 0, 0], base[:, 1:2]):
            made = x.to(second, copy=True)
            assert made.dtype is second
            assert made.tolist() == x.double().to(second).tolist()
            assert made.stride() == torch.empty_like(x).stride()
            target = torch.ones(x.shape, dtype=second).mT if x.dim() > 1 else torch.ones(x.shape, dtype=second)
            source = x.mT if x.dim() > 1 else x
            assert target.copy_(source).tolist() == source.to(second).tolist()


def test_doubles_round_to_half_precision_by_way_of_single() -> None:
    x = torch.tensor([1 + 2.0**-11 + 2.0**-30] * 20, dtype=torch.float64)
    assert x.to(torch.float16).tolist() == [1.0] * 20
    assert x[:3].to(torch.float16).tolist() == [1.0] * 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_of_every_dtype_and_layout(dtype: Any) -> None:
    base = torch.tensor(np.arange(60).reshape(3, 4, 5) % 3).to(dtype)
    for x in (base, base.permute(2, 0, 1), base[:, :, ::2], base[:1].expand(3, 4, 5)):
        for dim in range(3):
            wanted = np.cumsum(x.double().numpy(), dim)
            made = x.cumsum(dim)
            assert made.dtype is (dtype if dtype.is_floating_point else torch.int64)
            assert np.array_equal(made.double().numpy(), wanted)
            assert np.array_equal(x.cumsum(dim, dtype=torch.float64).numpy(), wanted)
            values, at = x.cummax(dim)
            assert np.array_equal(values.double().numpy(), np.maximum.accumulate(x.double().numpy(), dim))
            assert values.dtype is dtype
            assert torch.equal(x.gather(dim, at), values)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_running_extremes_of_halves_stay_at_nan_and_take_the_last_of_equal_values(dtype: Any) -> None:
    x = torch.tensor([1.0, -0.0, 0.0, 1.0, float("nan"), 2.0, float("inf"), float("nan")], dtype=dtype)
    assert x.cummax(0).indices.tolist() == [0, 0, 0, 3, 4, 4, 4, 7]
    assert x.cummin(0).indices.tolist() == [0, 1, 2, 2, 4, 4, 4, 7]
    rows = torch.stack([x, x], 1)
    assert rows.cummin(0).indices[:, 1].tolist() == [0, 1, 2, 2, 4, 4, 4, 7]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_of_short_rows_of_halves(dtype: Any) -> None:
    for n in (2, 9, 27, 100, 1000):
        x = torch.tensor(np.arange(37 * n).reshape(37, n) % 7).to(dtype)
        assert torch.equal(x.amax(1), x.float().amax(1).to(dtype))
        assert torch.equal(x.sum(1), x.float().sum(1).to(dtype))
        assert torch.equal(x.sum(1), x.mT.contiguous().sum(0))
