"""Samples of the ops in retrograd/ops/linalg/norms.py."""
from __future__ import annotations

import math
from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples
from tests.samples.solve import COMPLEX, regular


@samples("linalg_householder_product.default", "orgqr.default")
def householder_product(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), make(3))
    yield Sample(make(3, 3), make(2))
    yield Sample(make(2, 4, 3), make(2, 3))
    yield Sample(make(4, 3, dtype=COMPLEX), make(3, dtype=COMPLEX))


@samples("ormqr.default")
def ormqr(make: Maker) -> Iterator[Sample]:
    for transpose in (False, True):
        yield Sample(make(4, 3), make(3), make(4, 2), True, transpose)
        yield Sample(make(4, 3), make(3), make(2, 4), False, transpose)
    yield Sample(make(2, 4, 3), make(2, 3), make(2, 4, 2))


@samples("linalg_matrix_exp.default", "matrix_exp.default")
def matrix_exp(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 3))
    yield Sample(make(2, 2, 3, 3))
    yield Sample(make(3, 3, dtype=COMPLEX))
    yield Sample(make(0, 3, 3))


@samples("linalg_matrix_power.default", "matrix_power.default")
def matrix_power(make: Maker) -> Iterator[Sample]:
    for n in (-2, -1, 0, 1, 2, 3, 5):
        yield Sample(regular(make, 2, 3, 3), n)


@samples("linalg_matrix_norm.default")
def matrix_norm(make: Maker) -> Iterator[Sample]:
    for ord in (1, -1, 2, -2, math.inf, -math.inf):
        yield Sample(make(3, 4), ord)
        yield Sample(make(2, 3, 4), ord, (0, 2), True)
    yield Sample(make(0, 3), math.inf, note="empty")
    yield Sample(make(2, 3, 0), 1, keepdim=True)
    yield Sample(make(0, 3), 2)


@samples("linalg_matrix_norm.str_ord")
def matrix_norm_by_name(make: Maker) -> Iterator[Sample]:
    for ord in ("fro", "nuc"):
        yield Sample(make(3, 4), ord)
        yield Sample(make(2, 3, 4), ord, (0, 2), True)


@samples("linalg_norm.default")
def norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 2)
    yield Sample(make(3, 4), 3, 0)


@samples("linalg_norm.ord_str")
def norm_by_name(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), "fro")
    yield Sample(make(3, 4, 2), "nuc", (0, 1))


@samples("nuclear_norm.default")
def nuclear_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))


@samples("nuclear_norm.dim", "frobenius_norm.dim")
def norm_of_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 2), (0, 1), True)


@samples("norm_except_dim.default")
def norm_except_dim(make: Maker) -> Iterator[Sample]:
    for dim in (-1, 0, 1, 2):
        yield Sample(make(3, 4, 2), 2, dim)


@samples("linalg_cond.default")
def cond(make: Maker) -> Iterator[Sample]:
    for p in (None, 2, -2):
        yield Sample(regular(make, 3, 3), p)
    for p in (1, -1, float("inf")):
        yield Sample(regular(make, 2, 3, 3), p)


@samples("linalg_cond.p_str")
def cond_by_name(make: Maker) -> Iterator[Sample]:
    yield Sample(regular(make, 3, 3), "nuc")
    yield Sample(regular(make, 3, 3), "fro")


@samples("linalg_matrix_rank.default")
def matrix_rank_tol(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, requires_grad=False), 0.5)


@samples("linalg_matrix_rank.tol_tensor")
def matrix_rank_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, requires_grad=False), torch.tensor(0.5, dtype=torch.float64))


@samples("linalg_matrix_rank.atol_rtol_tensor", "linalg_matrix_rank.atol_rtol_float")
def matrix_rank(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4, requires_grad=False))
    yield Sample(make(3, 3, requires_grad=False), hermitian=True)


@samples("linalg_tensorinv.default")
def tensorinv(make: Maker) -> Iterator[Sample]:
    yield Sample(regular(make, 6, 6).detach().reshape((2, 3, 6)).requires_grad_())


@samples("linalg_tensorsolve.default")
def tensorsolve(make: Maker) -> Iterator[Sample]:
    yield Sample(regular(make, 6, 6).detach().reshape((2, 3, 6)).requires_grad_(), make(2, 3))
    yield Sample(regular(make, 6, 6).detach().reshape((6, 2, 3)).requires_grad_(), make(2, 3), (0,))


@samples("linalg_vander.default")
def vander(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make(3), N=2)
    yield Sample(make(), N=3)
