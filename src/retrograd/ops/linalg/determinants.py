"""Determinants and their logarithms."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.opdef import defop
from retrograd.core.tensor import FLAG_WRAPPER, FUNCTIONS_BY_NAME
from retrograd.ops import late
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import (
    check_floating,
    check_square,
    column_major,
    supported,
)
from retrograd.ops.linalg.lu import linalg_lu_solve
from retrograd.ops.linalg.solve import linalg_solve
from retrograd.ops.linalg.triangular import stacked
from retrograd.ops.shared.elementwise import times
from retrograd.ops.shared.families import everything, is_watched, will_differentiate


def trace_of(t: Any) -> Any:
    return t.diagonal(0, -2, -1).sum(-1)


def scaled_identity(factor: Any, n: int) -> Any:
    """A batch of multiples of the identity."""
    return factor.unsqueeze(-1).expand((*factor.shape, n)).diag_embed(0, -2, -1)


def det_parts(xp: Any, name: str, A: Any) -> Any:
    check_square(name, A)
    check_floating(name, A, low_precision=name != "linalg.slogdet")
    supported("lu_cpu", A, even_empty=False)
    lu, pivots, _ = lapack.lu_factor(xp, A)
    return lu, pivots


def diagonal_and_parity(xp: Any, lu: Any, pivots: Any) -> Any:
    return xp.diagonal(lu, 0, -2, -1), lapack.parity_of(xp, pivots).astype(lu.dtype)


def det_kernel(xp: Any, A: Any) -> Any:
    lu, pivots = det_parts(xp, "linalg.det", A)
    made = lapack.determinant(xp, lu, pivots, False)
    if made is not None:
        return made, column_major(lu), pivots
    diagonal, parity = diagonal_and_parity(xp, lu, pivots)
    return xp.asarray(xp.prod(diagonal, -1) * parity), column_major(lu), pivots


def slogdet_kernel(xp: Any, A: Any) -> Any:
    lu, pivots = det_parts(xp, "linalg.slogdet", A)
    made = lapack.determinant(xp, lu, pivots, True)
    if made is not None:
        return *made, column_major(lu), pivots
    diagonal, parity = diagonal_and_parity(xp, lu, pivots)
    size = xp.abs(diagonal)
    unit = xp.where(xp.isnan(diagonal), 0, xp.where(size == 0, 0, diagonal / xp.where(size == 0, 1, size)))
    sign = xp.prod(unit, -1) * parity
    return (xp.asarray(sign).astype(A.dtype, copy=False), xp.asarray(xp.log(size).sum(-1)), column_major(lu), pivots)


def perturbed(LU: Any) -> Any:
    """Factors of a nearby non-singular matrix: the determinant is smooth, so its gradient there is a good approximation."""
    diagonal = LU.diagonal(0, -2, -1)
    tiny = float(np.finfo(LU.array.dtype).eps)
    return LU + late.where(diagonal == 0, tiny, 0.0).to(LU.dtype).diag_embed(0, -2, -1)


def cofactors(grad: Any, A: Any) -> Any:
    """The gradient of det(A) where A may be singular: by products of all singular values but one."""
    U, S, Vh = late.linalg_svd(A, full_matrices=True)
    factor = (late.linalg_det(U) * late.linalg_det(Vh)).conj() * grad
    ones = S.new_ones((*S.shape[:-1], 1))
    before = late.cat([ones, S], -1).cumprod(-1).narrow(-1, 0, S.shape[-1])
    after = late.cat([ones, S.flip(-1)], -1).cumprod(-1).narrow(-1, 0, S.shape[-1]).flip(-1)
    return (U * (factor.unsqueeze(-1) * before * after).unsqueeze(-2)) @ Vh


def det_gradient(grad: Any, A: Any, result: Any, LU: Any, pivots: Any) -> Any:
    if not A.numel():
        return late.zeros_like(A)
    n = A.shape[-1]
    if n == 1:                            # a 1x1 matrix is its own determinant
        return grad.unsqueeze(-1).unsqueeze(-1).expand(A.shape)
    if not is_watched():
        right = scaled_identity(grad * result.conj(), n)
        return linalg_lu_solve(perturbed(LU), pivots, right, adjoint=True)
    singular = np.abs(everything(result)) < 100 * np.finfo(A.array.dtype).eps
    if not singular.any():
        return linalg_solve(A.mH, scaled_identity(grad * result.conj(), n))
    if singular.all() or result._flags & FLAG_WRAPPER:       # batched examples cannot be inspected one by one
        return cofactors(grad, A)
    flag = late.tensor(singular)
    grad = grad.expand(result.shape)
    regular = linalg_solve(A[~flag].mH, scaled_identity((grad * result.conj())[~flag], n))
    made = A.new_zeros(A.shape).index_put((flag,), cofactors(grad[flag], A[flag]))
    return made.index_put((~flag,), regular)


def det_tangent(A_p: Any, A_t: Any, result: Any, LU: Any, pivots: Any) -> Any:
    if will_differentiate(A_p):           # the factors have no derivatives
        slope = det_gradient(late.ones_like(result), A_p, result, LU, pivots)
        return (slope.conj() * A_t).sum((-2, -1)), None, None
    return trace_of(linalg_lu_solve(perturbed(LU), pivots, A_t)) * result, None, None


def slogdet_gradient(grads: Any, A: Any, sign: Any, LU: Any, pivots: Any) -> Any:
    grad = grads[1]
    if A.is_complex() and grads[0] is not None:
        turning = late.imag(grads[0] * sign.conj())
        grad = late.complex(late.zeros_like(turning) if grad is None else grad, turning)
    if grad is None:
        return None               # the sign of a real determinant is constant
    right = scaled_identity(grad.to(A.dtype), A.shape[-1])
    if is_watched():
        return linalg_solve(A.mH, right)
    return linalg_lu_solve(LU, pivots, right, adjoint=True)


def slogdet_tangent(A_p: Any, A_t: Any, sign: Any, LU: Any, pivots: Any) -> Any:
    solved = linalg_solve(A_p, A_t) if will_differentiate(A_p) else linalg_lu_solve(LU, pivots, A_t)
    trace = trace_of(solved)
    if not A_p.is_complex():
        return late.zeros_like(sign), trace, None, None
    return times(late.imag(trace) * sign, 1j), late.real(trace), None, None


linalg_det_ = defop(
    "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
    kernel=det_kernel, vjp=dict(A=det_gradient), jvp=det_tangent, batch=stacked(2), constant=(1,), variants="",
    out_form="result",
)
linalg_slogdet_ = defop(
    "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
    kernel=slogdet_kernel, vjp=dict(A=slogdet_gradient), jvp=slogdet_tangent, batch=stacked(2), constant=(2,), variants="",
    out_form="sign",
)


def linalg_det(A: Any) -> Any:
    return linalg_det_(A)[0]


def slogdet_by(packet_op: Any) -> Any:
    def composite(A: Any) -> Any:
        return packet_op().result_type(*linalg_slogdet_(A)[:2])
    return composite


def logdet(self: Any) -> Any:
    check_square("logdet", self.array)
    check_floating("logdet", self.array, low_precision=False)
    sign, size = linalg_slogdet_(self)[:2]
    if self.is_complex():
        return sign.log() + size
    return late.where(sign == -1.0, float("nan"), size)


FUNCTIONS_BY_NAME["linalg_det"] = defop("linalg_det(Tensor A) -> Tensor",
                                        out="same", kernel=linalg_det, composite=True, variants="")
defop("det(Tensor self) -> Tensor", kernel=linalg_det, composite=True, out=False)
linalg_slogdet = defop("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
                       out="same", kernel=slogdet_by(lambda: linalg_slogdet),
                       composite=True, variants="")
slogdet = defop("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
                out="same", kernel=slogdet_by(lambda: slogdet), composite=True)
defop("logdet(Tensor self) -> Tensor", kernel=logdet, composite=True, out=False)
