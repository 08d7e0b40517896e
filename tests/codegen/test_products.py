"""The compiled products of small and medium matrices (core/native/matrices.c) against NumPy's in double precision."""
from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch

SIZES = [(2, 3, 200), (3, 512, 5), (7, 33, 17), (8, 64, 32), (9, 64, 33), (17, 5, 50), (32, 64, 128), (33, 128, 10)]
LAYOUTS = ["rows", "columns", "gaps"]


def matrix(random: np.random.Generator, rows: int, columns: int, layout: str, dtype: str) -> np.ndarray:
    if layout == "columns":
        return random.standard_normal((columns, rows)).astype(dtype).T
    if layout == "gaps":
        return random.standard_normal((2 * rows, 3 * columns)).astype(dtype)[::2, ::3]
    return random.standard_normal((rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_products_of_matrices_agree_with_numpy(first: str, second: str, dtype: str) -> None:
    random = np.random.default_rng(0)
    for m, k, n in SIZES:
        a, b = matrix(random, m, k, first, dtype), matrix(random, k, n, second, dtype)
        bias = random.standard_normal(n).astype(dtype)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        x, y = torch.from_numpy(a), torch.from_numpy(b)
        np.testing.assert_allclose(torch.mm(x, y).numpy(), exact, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(torch.addmm(torch.from_numpy(bias), x, y).numpy(), exact + bias, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [2, 8, 11])
def test_products_of_matrices_keep_nan_and_infinity(rows: int) -> None:
    a, b = np.ones((rows, 40), np.float32), np.ones((40, 20), np.float32)
    a[1, 3], b[5, 7] = np.inf, np.nan
    made = torch.mm(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    assert np.isnan(made[:, 7]).all()
    assert np.isinf(np.delete(made[1], 7)).all()
    assert (np.delete(np.delete(made, 7, 1), 1, 0) == 40).all()


KINDS = ["uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128"]


def numbers(random: np.random.Generator, shape: tuple[int, ...], dtype: str, layout: str) -> np.ndarray:
    stored = (*shape[:-2], *shape[:-3:-1]) if layout == "columns" and len(shape) > 1 else shape
    made = random.integers(-9, 9, stored) + (1j * random.integers(-9, 9, stored) if dtype.startswith("c") else 0)
    made = made.astype(dtype)
    return made.swapaxes(-1, -2) if stored is not shape else np.repeat(made, 2, -1)[..., ::2] if layout == "gaps" else made


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_products_of_whole_numbers_are_exact(first: str, second: str, dtype: str) -> None:
    random = np.random.default_rng(1)
    for m, k, n in [(0, 3, 2), (2, 0, 3), (1, 1, 1), (2, 3, 4), (1, 40, 33), (37, 20, 1), (3, 129, 70), (17, 9, 30)]:
        a, b = numbers(random, (m, k), dtype, first), numbers(random, (k, n), dtype, second)
        x, y = torch.from_numpy(a), torch.from_numpy(b)
        exact = a @ b
        assert np.array_equal(torch.mm(x, y).numpy(), exact)
        assert np.array_equal(torch.addmm(torch.from_numpy(exact), x, y, beta=2, alpha=3).numpy(),
                              (2 * exact + 3 * exact).astype(dtype))
        if k and n == 1:
            assert np.array_equal(torch.mv(x, y[:, 0]).numpy(), exact[:, 0])
            assert np.array_equal(torch.dot(x[0], y[:, 0]).numpy(), exact[0, 0])
            assert np.array_equal(torch.vdot(x[0], y[:, 0]).numpy(), np.sum(a[0].conj() * b[:, 0], dtype=dtype))
        c, d = numbers(random, (3, m, k), dtype, first), numbers(random, (3, k, n), dtype, second)
        x, y = torch.from_numpy(c), torch.from_numpy(d)
        assert np.array_equal(torch.bmm(x, y).numpy(), c @ d)
        assert np.array_equal(torch.baddbmm(torch.from_numpy(exact), x, y, beta=2).numpy(), (2 * exact + c @ d).astype(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_half_precision_are_rounded_once(dtype: torch.dtype) -> None:
    for m, k, n in [(1, 8, 5), (2, 3, 4), (9, 31, 17), (40, 60, 50)]:
        a, b = torch.randn(m, k).to(dtype), torch.randn(n, k).to(dtype)
        exact = a.double() @ b.double().t()
        row = torch.zeros(n, dtype=dtype)
        for made in (torch.mm(a, b.t()), torch.addmm(row, a, b.t()), torch.bmm(a[None], b.t()[None])[0]):
            assert (made.double() - exact).abs().max() <= exact.abs().max() * torch.finfo(dtype).eps
        assert abs(torch.dot(a[0], b[0]).item() - exact[0, 0].item()) <= exact.abs().max() * torch.finfo(dtype).eps


def test_factors_of_whole_numbers_lose_their_fractions() -> None:
    x = torch.ones(2, 2, dtype=torch.int64)
    for alpha, sum_of_both in ((0.5, 1), (2.0, 5), (-1, -1)):
        assert torch.addmm(x, x, x, alpha=alpha).tolist() == [[sum_of_both] * 2] * 2
    with pytest.raises(RuntimeError, match="must not be a floating point number"):
        torch.addr(x, x[0], x[0], alpha=0.5)


def test_negative_factors_of_bytes_wrap_around() -> None:
    x = torch.ones(2, 2, dtype=torch.uint8)
    assert torch.addmm(x, x, x, alpha=-3).tolist() == [[251] * 2] * 2
    assert torch.addmm(x, x, x, beta=-3).tolist() == [[255] * 2] * 2
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        torch.addmm(x, x, x, alpha=300)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_of_bytes_are_added_up_in_int32(dtype: str) -> None:
    random = np.random.default_rng(2)
    for m, k, n in [(1, 1, 1), (17, 8, 16), (2, 40, 9), (70, 60, 50), (0, 3, 2), (3, 0, 2)]:
        for first in LAYOUTS:
            for second in LAYOUTS:
                a, b = numbers(random, (m, k), dtype, first), numbers(random, (k, n), "int8", second)
                made = torch._int_mm(torch.from_numpy(a), torch.from_numpy(b))
                assert made.dtype is torch.int32
                assert np.array_equal(made.numpy(), a.astype(np.int32) @ b.astype(np.int32))
