"""Samples of the ops in retrograd/ops/linalg/: solve.py, triangular.py, cholesky.py, lu.py, determinants.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples

COMPLEX = torch.complex128
SHAPES = ((3, 3), (2, 3, 3), (0, 3, 3), (0, 0))


def tensor(array: Any) -> Any:
    return new_tensor(np.array(array)).requires_grad_()


def hermitian(A: Any, *rest: Any) -> Any:
    return ((A + A.mH) / 2, *rest)


def regular(make: Maker, *shape: int, dtype: Any = None) -> Any:
    """Matrices that are far from singular."""
    values = make(*shape, dtype=dtype, requires_grad=False).array
    return tensor(values + 4 * np.eye(shape[-1]))


def positive(make: Maker, *shape: int, dtype: Any = None) -> Any:
    """Hermitian, positive-definite matrices."""
    values = make(*shape, dtype=dtype, requires_grad=False).array
    return tensor(values @ values.conj().swapaxes(-1, -2) / shape[-1] + np.diag(np.arange(1.0, shape[-1] + 1)))


def lower(make: Maker, *shape: int, dtype: Any = None) -> Any:
    return tensor(np.tril(regular(make, *shape, dtype=dtype).detach().array.real + 0))


@samples("linalg_cholesky_ex.default", "linalg_cholesky.default", "cholesky.default")
def cholesky(make: Maker) -> Iterator[Sample]:
    for shape in SHAPES:
        for upper in (False, True):
            yield Sample(positive(make, *shape), upper=upper, before=hermitian)
    yield Sample(positive(make, 3, 3, dtype=COMPLEX), before=hermitian)


@samples("cholesky_solve.default")
def cholesky_solve(make: Maker) -> Iterator[Sample]:
    def triangle(B: Any, L: Any, upper: bool) -> Any:
        return B, L.triu() if upper else L.tril(), upper
    yield Sample(make(3, 2), lower(make, 3, 3), before=triangle)
    yield Sample(make(2, 3, 2), tensor(lower(make, 3, 3).detach().array.T), True, before=triangle)
    yield Sample(make(3, 2, dtype=COMPLEX), tensor(lower(make, 2, 3, 3).detach().array + 0j), before=triangle)


@samples("cholesky_inverse.default")
def cholesky_inverse(make: Maker) -> Iterator[Sample]:
    yield Sample(lower(make, 3, 3), before=lambda L, upper: (L.tril(), upper))
    yield Sample(tensor(lower(make, 2, 3, 3).detach().array.swapaxes(-1, -2)), True, before=lambda L, upper: (L.triu(), upper))


@samples("linalg_inv_ex.default", "linalg_inv.default", "inverse.default", "_linalg_det.default", "linalg_det.default",
         "det.default", "_linalg_slogdet.default", "linalg_slogdet.default", "slogdet.default")
def inverse(make: Maker) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample(regular(make, *shape))
    yield Sample(regular(make, 3, 3, dtype=COMPLEX))
    yield Sample(new_tensor(np.array(regular(make, 3, 3).detach().array, order="F")).requires_grad_())


@samples("logdet.default")
def logdet(make: Maker) -> Iterator[Sample]:
    yield Sample(positive(make, 3, 3))
    yield Sample(positive(make, 2, 3, 3, dtype=COMPLEX))


@samples("_linalg_solve_ex.default", "linalg_solve.default", "linalg_solve_ex.default")
def solve(make: Maker) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 3, 3)):
        yield Sample(regular(make, *shape), make(*shape[:-1], 2))
        yield Sample(regular(make, *shape), make(*shape[:-2], 2, 3), left=False)
        yield Sample(regular(make, *shape), make(*shape[:-1]))
    yield Sample(regular(make, 2, 3, 3), make(3, 2))
    yield Sample(regular(make, 3, 3, dtype=COMPLEX), make(3, 2, dtype=COMPLEX))
    yield Sample(regular(make, 0, 0), make(0, 2))


@samples("linalg_solve_triangular.default")
def solve_triangular(make: Maker) -> Iterator[Sample]:
    for upper in (False, True):
        yield Sample(regular(make, 3, 3), make(3, 2), upper=upper)
        yield Sample(regular(make, 2, 3, 3), make(2, 3), upper=upper, left=False)
        yield Sample(regular(make, 3, 3), make(2, 3, 2), upper=upper, unitriangular=True)
    yield Sample(regular(make, 3, 3, dtype=COMPLEX), make(3, 2, dtype=COMPLEX), upper=True)


@samples("triangular_solve.default")
def triangular_solve(make: Maker) -> Iterator[Sample]:
    for upper in (False, True):
        yield Sample(make(3, 2), regular(make, 3, 3), upper)
        yield Sample(make(2, 3, 2), regular(make, 3, 3), upper, True)
        yield Sample(make(3, 2), regular(make, 3, 3), upper, False, True)


@samples("linalg_lu_factor_ex.default", "linalg_lu_factor.default", "linalg_lu.default")
def lu(make: Maker) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 3, 3), (4, 3), (3, 4), (0, 3, 3)):
        values = make(*shape, requires_grad=False).array
        yield Sample(tensor(values + 4 * np.eye(*shape[-2:])))
    yield Sample(regular(make, 3, 3, dtype=COMPLEX))


def factors(make: Maker, *shape: int) -> Any:
    made, pivots, _ = torch.ops.aten.linalg_lu_factor_ex(regular(make, *shape).detach())
    return tensor(made.array), pivots


@samples("lu_unpack.default")
def lu_unpack(make: Maker) -> Iterator[Sample]:
    yield Sample(*factors(make, 3, 3))
    yield Sample(*factors(make, 2, 3, 3), True, False)
    yield Sample(*factors(make, 3, 3), False, True, grad=False)
    yield Sample(make(4, 3), new_tensor(np.array([2, 2, 4], np.int32)))
    yield Sample(make(3, 4), new_tensor(np.array([1, 3, 3], np.int32)))


@samples("linalg_lu_solve.default")
def lu_solve(make: Maker) -> Iterator[Sample]:
    for left in (True, False):
        for adjoint in (True, False):
            yield Sample(*factors(make, 3, 3), make(*((3, 2) if left else (2, 3))), left=left, adjoint=adjoint)
    yield Sample(*factors(make, 2, 3, 3), make(2, 3, 2))


@samples("lu_solve.default")
def old_lu_solve(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), *factors(make, 3, 3))


@samples("_linalg_check_errors.default")
def successful(make: Maker) -> Iterator[Sample]:
    yield Sample(torch.zeros((), dtype=torch.int32), "linalg.inv", is_matrix=True, grad=False)
    yield Sample(torch.zeros(2, dtype=torch.int32), "torch.linalg.solve", is_matrix=False, grad=False)
