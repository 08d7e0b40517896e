"""Factors of small matrices against LAPACK's, at all sizes up to the largest and one more; inverses in blocks of columns."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.linalg import lapack

SIZES = range(1, lapack.MOST_SMALL + 2)


def normal(kind: str, *shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(kind)


def agrees(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The same numbers as LAPACK's own routines make."""
    made = function()
    with monkeypatch.context() as patch:
        patch.setattr(lapack, "SMALL", {})
        wanted = function()
    for a, b in zip(made, wanted, strict=True):
        close = 1e-4 if kind == "f" else 1e-11
        np.testing.assert_allclose(a, b, rtol=close, atol=close)


@pytest.mark.parametrize("kind", "fd")
@pytest.mark.parametrize("rows", SIZES)
def test_factors_of_any_shape(rows: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in SIZES:
        a = normal(kind, 3, rows, columns)
        agrees(lambda a=a: lapack.lu_factor(np, a), monkeypatch, kind)
        agrees(lambda a=a: lapack.geqrf(np, a), monkeypatch, kind)
        for mode in ("reduced", "complete"):
            q, r = lapack.qr(np, a, mode)
            np.testing.assert_allclose(q @ r, a, atol=1e-4 if kind == "f" else 1e-12)
            agrees(lambda a=a, mode=mode: lapack.qr(np, a, mode), monkeypatch, kind)


@pytest.mark.parametrize("kind", "fd")
@pytest.mark.parametrize("n", SIZES)
def test_solutions_inverses_and_roots(n: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = normal(kind, 4, n, n) + n * np.eye(n, dtype=kind)
    b = normal(kind, 4, n, 3)
    lu, pivots, _ = lapack.lu_factor(np, a)
    for turned in (False, True):
        agrees(lambda turned=turned: (lapack.lu_solve(np, lu, pivots, b, turned),), monkeypatch, kind)
    agrees(lambda: lapack.inverse(np, a), monkeypatch, kind)
    for upper in (False, True):
        agrees(lambda upper=upper: lapack.cholesky(np, a @ a.swapaxes(1, 2), upper), monkeypatch, kind)
    vectors, scales = lapack.geqrf(np, a)
    agrees(lambda: (lapack.householder_product(np, vectors, scales),), monkeypatch, kind)


@pytest.mark.parametrize("kind", "fd")
@pytest.mark.parametrize("n", [3, 40])
def test_what_cannot_be_factorized_is_named(n: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.stack([np.eye(n, dtype=kind)] * 3)
    a[1, 2, 2] = 0
    for factorize in (lapack.lu_factor, lapack.inverse, lambda xp, a: lapack.cholesky(xp, a, False)):
        agrees(lambda f=factorize: f(np, a), monkeypatch, kind)
        assert factorize(np, a)[-1].tolist() == [0, 3, 0]


def test_reflections_of_very_large_and_very_small_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, scale in (("f", 1e30), ("f", 1e-30), ("d", 1e200), ("d", 1e-200)):
        a = (normal("d", 2, 4, 3) * scale).astype(kind)
        q, r = lapack.qr(np, a, "reduced")
        np.testing.assert_allclose(q @ (r / a.dtype.type(scale)), a / scale, atol=1e-5)
    agrees(lambda: lapack.qr(np, np.zeros((2, 3, 3), "f"), "reduced"), monkeypatch, "f")


@pytest.mark.parametrize("kind", "fd")
@pytest.mark.parametrize("n", [17, 48, 49, 130])
def test_inverses_in_blocks_of_columns(n: int, kind: str) -> None:
    a = normal(kind, 3, n, n) + n * np.eye(n, dtype=kind)
    before, made = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 7):
            torch.set_num_threads(threads)
            made.append(lapack.inverse(np, a)[0])
    finally:
        torch.set_num_threads(before)
    for inverse in made:
        np.testing.assert_allclose(a @ inverse, np.broadcast_to(np.eye(n), a.shape), atol=1e-4 if kind == "f" else 1e-11)
        np.testing.assert_allclose(inverse, made[0], rtol=1e-4 if kind == "f" else 1e-11)


@pytest.mark.parametrize("sizes", [(16, 64, 128), (20, 33, 17), (96, 9, 30), (17, 127, 129)])
def test_products_with_a_transposed_operand(sizes: Any) -> None:
    m, k, n = sizes
    random = np.random.default_rng(0)
    x, w = random.standard_normal((m, k)), random.standard_normal((n, k + 5))
    for dtype, limit in ((torch.float32, 1e-4), (torch.float64, 1e-12)):
        left, wide = torch.tensor(x, dtype=dtype), torch.tensor(w, dtype=dtype)
        for right in (wide[:, 5:].t(), wide[:, 5:].contiguous().t(), wide[:, 5:].t().contiguous()):
            for made in (left @ right, torch.addmm(torch.zeros(n, dtype=dtype), left, right)):
                np.testing.assert_allclose(made.numpy(), x @ w[:, 5:].T, limit, limit)
