"""LAPACK over stacks: every layout, broadcasting and trouble, with and without the compiled loop over matrices."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.linalg import lapack
from retrograd.ops.shared import triangles

DTYPES = ("f", "d", "F", "D")


@pytest.fixture(params=["as built", "from Python"], autouse=True)
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "from Python":
        monkeypatch.setattr(lapack, "native", None)
        monkeypatch.setattr(triangles, "native", None)


def random(dtype: str, *shape: int) -> Any:
    source = np.random.default_rng(0)
    made = source.standard_normal(shape)
    return (made + 1j * source.standard_normal(shape)).astype(dtype) if dtype in "FD" else made.astype(dtype)


def agree(a: Any, b: Any) -> None:
    single = np.asarray(a).dtype.char in "fF"
    np.testing.assert_allclose(a, b, rtol=2e-3 if single else 1e-9, atol=2e-4 if single else 1e-10)


def layouts(a: Any) -> list[Any]:
    """The same numbers in several orders of memory."""
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return [a, np.asfortranarray(a), a.swapaxes(-1, -2).copy().swapaxes(-1, -2), wide[..., ::2]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_multiplies_back(dtype: str) -> None:
    for shape in ((3, 3), (2, 4, 3), (2, 3, 3, 5)):
        for a in layouts(random(dtype, *shape)):
            lu, pivots, info = lapack.lu_factor(np, a)
            k = min(shape[-2:])
            lower = np.tril(lu[..., :k], -1) + np.eye(shape[-2], k, dtype=dtype)
            order = lapack.permutation_of(np, pivots, shape[-2])
            agree(lapack.permutation_matrix(np, order, a.dtype) @ lower @ np.triu(lu[..., :k, :]), a)
            assert not info.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_solutions_of_a_stack_solve_each_system(dtype: str) -> None:
    a, b = random(dtype, 4, 3, 3), random(dtype, 4, 3, 2)
    for x in layouts(a):
        lu, pivots, _ = lapack.lu_factor(np, x)
        agree(x @ lapack.lu_solve(np, lu, pivots, b), b)
        agree(lapack.adjoint(x) @ lapack.lu_solve(np, lu, pivots, b, True), b)
        agree(x @ lapack.inverse(np, x)[0], np.broadcast_to(np.eye(3), x.shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_leading_dimensions_broadcast(dtype: str) -> None:
    for first, second in (((), (4,)), ((4,), ()), ((2, 1), (3,)), ((1,), (3,))):
        a, b = random(dtype, *first, 3, 3), random(dtype, *second, 3, 2)
        lu, pivots, _ = lapack.lu_factor(np, a)
        agree(a @ lapack.lu_solve(np, lu, pivots, b), b + 0 * (a @ b))
        triangle = np.tril(a) + 3 * np.eye(3, dtype=dtype)
        agree(triangle @ lapack.solve_triangular(np, triangle, b, False, False), b + 0 * (a @ b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems_read_one_triangle(dtype: str, upper: bool, unit: bool) -> None:
    a, b = random(dtype, 2, 4, 4) + 4 * np.eye(4, dtype=dtype), random(dtype, 2, 4, 4)
    part = np.triu(a) if upper else np.tril(a)
    if unit:
        part = part - part * np.eye(4, dtype=dtype) + np.eye(4, dtype=dtype)
    for x in layouts(a):
        agree(part @ lapack.solve_triangular(np, x, b, upper, unit), b)
        agree(lapack.solve_triangular(np, x, b, upper, unit, False) @ part, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_solve_and_invert(dtype: str, upper: bool) -> None:
    a = random(dtype, 2, 3, 3)
    a = a @ lapack.adjoint(a) + np.eye(3, dtype=dtype)
    for x in layouts(a):
        factor, info = lapack.cholesky(np, x, upper)
        agree(lapack.adjoint(factor) @ factor if upper else factor @ lapack.adjoint(factor), a)
        b = random(dtype, 2, 3, 2)
        agree(a @ lapack.cholesky_solve(np, factor, b, upper), b)
        agree(a @ lapack.cholesky_inverse(np, factor, upper)[0], np.broadcast_to(np.eye(3), a.shape))
        assert not info.any()


def test_info_names_the_trouble() -> None:
    a = np.array([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.zeros((3, 3))])
    assert lapack.lu_factor(np, a)[2].tolist() == [0, 2, 1]
    assert lapack.inverse(np, a)[1].tolist() == [0, 2, 1]
    assert lapack.cholesky(np, a, False)[1].tolist() == [0, 2, 1]


def test_matrices_without_elements() -> None:
    assert lapack.lu_solve(np, np.ones((0, 2, 2)), np.ones((0, 2), np.int32), np.ones((0, 2, 1))).shape == (0, 2, 1)
    assert lapack.inverse(np, np.ones((2, 0, 0)))[0].shape == (2, 0, 0)
    assert lapack.solve_triangular(np, np.ones((2, 2)), np.ones((2, 0)), True, False).shape == (2, 0)
    assert lapack.permutation_of(np, np.ones((0, 2), np.int32), 2).shape == (0, 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reflections_are_those_of_qr(dtype: str) -> None:
    a = random(dtype, 2, 4, 3)
    vectors, tau = np.linalg.qr(a, "raw")
    vectors = vectors.swapaxes(-1, -2)
    q = np.linalg.qr(a, "complete")[0]
    agree(lapack.householder_product(np, vectors, tau), q[..., :3])
    other = random(dtype, 2, 4, 4)
    agree(lapack.reflect(np, vectors, tau, other, True, False), q @ other)
    agree(lapack.reflect(np, vectors, tau, other, True, True), lapack.adjoint(q) @ other)
    agree(lapack.reflect(np, vectors, tau, other, False, False), other @ q)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_by_every_driver(dtype: str, driver: str) -> None:
    for shape in ((5, 3), (3, 5), (2, 6, 4), (40, 30)):
        a, b = random(dtype, *shape), random(dtype, *shape[:-1], 2)
        x, rank, values = lapack.least_squares(np, a, b, driver, 1e-7)
        agree(x[..., :shape[-1], :], np.linalg.pinv(a) @ b)
        if driver != "gels":
            assert (rank == min(shape[-2:])).all()
        if driver in ("gelsd", "gelss"):
            agree(values, np.linalg.svd(a, compute_uv=False))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-3, 0.3, 1.0, 30.0])
def test_matrix_exp_is_that_of_the_eigenvalues(dtype: str, size: float) -> None:
    a = random(dtype, 3, 4, 4)
    a = (a + lapack.adjoint(a)) * size / 4 * np.array([1, 0.5, 0]).reshape(3, 1, 1)
    a = a.astype(dtype)
    values, vectors = np.linalg.eigh(a.astype("D"))
    wanted = (vectors * np.exp(values)[:, None, :]) @ lapack.adjoint(vectors)
    made = lapack.matrix_exp(np, a)
    assert np.abs(made - wanted).max() / np.abs(wanted).max() < (3e-5 if dtype in "fF" else 1e-12)


def test_triangles_of_any_array() -> None:
    for dtype in (bool, np.int8, np.float32, np.complex128):
        for shape in ((3, 4), (2, 4, 3), (0, 2), (2, 0), (2, 0, 3)):
            a = np.ones(shape, dtype)
            for x in (a, a.swapaxes(-1, -2)):
                for k in (-5, -1, 0, 1, 5):
                    assert (triangles.lower_part(x, k) == np.tril(x, k)).all()
                    assert (triangles.upper_part(x, k) == np.triu(x, k)).all()
    x = torch.arange(6).reshape(2, 3)
    assert x.tril().tolist() == [[0, 0, 0], [3, 4, 0]] and x.triu().tolist() == [[0, 1, 2], [0, 4, 5]]
    assert x.tril_(-1).tolist() == [[0, 0, 0], [3, 0, 0]]


# ---- LDL
@pytest.mark.parametrize("pivots", [[0, 1], [3, 1], [1, -2], [-1, 2], [-9, -9]])
def test_exchanges_that_no_factorization_made_are_refused(pivots: list[int]) -> None:
    with pytest.raises(RuntimeError, match="Did you properly pass the result of ldl_factor"):
        torch.linalg.ldl_solve(torch.eye(2), torch.tensor(pivots, dtype=torch.int32), torch.ones(2, 1))


def test_indefinite_systems_are_solved_by_their_factors() -> None:
    torch.manual_seed(0)
    a = torch.randn(3, 4, 4, dtype=torch.complex128)
    b = torch.randn(3, 4, 2, dtype=torch.complex128)
    for matrix, hermitian in ((a + a.mT, False), (a + a.mH, True)):
        factors, pivots = torch.linalg.ldl_factor(matrix, hermitian=hermitian)
        torch.testing.assert_close(matrix @ torch.linalg.ldl_solve(factors, pivots, b, hermitian=hermitian), b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 3, 4, 3), (0, 3, 3), (1, 1)])
def test_qr_and_singular_values_multiply_back(dtype: str, shape: Any) -> None:
    for a in layouts(random(dtype, *shape)) if 0 not in shape else [random(dtype, *shape)]:
        for mode in ("reduced", "complete", "r"):
            q, r = torch.linalg.qr(torch.from_numpy(a), mode)
            if mode != "r":
                agree(q @ r, a)
                agree((q.mH @ q).numpy(), np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))
            agree(r.triu(), r)
        for full in (False, True):
            u, s, vh = torch.linalg.svd(torch.from_numpy(a), full_matrices=full)
            k = s.shape[-1]
            agree((u[..., :k] * s.unsqueeze(-2).to(u.dtype)) @ vh[..., :k, :], a)
            agree(torch.linalg.svdvals(torch.from_numpy(a)), s)


@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants_and_eigenvalues_of_stacks(dtype: str) -> None:
    a = random(dtype, 2, 3, 4, 4)
    a[0, 1, 2] = a[0, 1, 1]                                   # a singular one
    for x in layouts(a):
        agree(torch.linalg.det(torch.from_numpy(x)), np.linalg.det(x))
        sign, size = torch.linalg.slogdet(torch.from_numpy(x[1]))
        agree(sign * size.exp(), np.linalg.det(x[1]))
        both = x + lapack.adjoint(x)
        for side in "LU":
            agree(torch.linalg.eigvalsh(torch.from_numpy(both), side), np.linalg.eigvalsh(both, side))


def test_numbers_that_are_none_are_refused() -> None:
    a = torch.full((2, 3, 3), float("nan"))
    a[0] = torch.eye(3)
    with pytest.raises(torch.linalg.LinAlgError, match="Batch element 1"):
        torch.linalg.svd(a)
