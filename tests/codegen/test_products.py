"""The compiled products of small and medium matrices (codegen/small_kernels.py) against NumPy's in double precision."""
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
