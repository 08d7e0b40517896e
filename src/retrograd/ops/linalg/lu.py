"""LU factors: of a matrix, unpacked, and systems of equations solved by them."""
from __future__ import annotations

from typing import Any

from retrograd.core.api import expose
from retrograd.core.hooks import hooks
from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import (
    check_factorized,
    check_floating,
    check_info,
    check_pivots,
    check_square,
    check_unpack,
    column_major,
    legacy,
    singular_factor,
    supported,
)
from retrograd.ops.linalg.lapack import INT32
from retrograd.ops.linalg.triangular import check_product, deprecated, linalg_solve_triangular, stacked
from retrograd.ops.shared.dtype_checks import without_gradient
from retrograd.ops.shared.triangles import lower_part, upper_part


def check_lu(name: str, A: Any, pivot: bool) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    supported("lu_cpu", A, even_empty=False)


def lu_factor_kernel(xp: Any, A: Any, pivot: bool, check_errors: bool) -> Any:
    check_lu("torch.lu_factor", A, pivot)
    lu, pivots, info = lapack.lu_factor(xp, A)
    if check_errors:
        check_info(info, "torch.linalg.lu_factor_ex", singular_factor, RuntimeError)
    return column_major(lu), pivots, info


def lu_kernel(xp: Any, A: Any, pivot: bool) -> Any:
    check_lu("linalg.lu", A, pivot)
    lu, pivots, _ = lapack.lu_factor(xp, A)
    return unpacked(xp, lu, pivots, True, True)


def unpacked(xp: Any, lu: Any, pivots: Any, data: bool, permutation: bool) -> Any:
    rows, columns = lu.shape[-2:]
    k = min(rows, columns)
    P, L, U = (xp.empty(0, lu.dtype) for _ in range(3))
    if permutation:
        P = lapack.permutation_matrix(xp, lapack.permutation_of(xp, pivots, rows), lu.dtype)
    if data:
        L = lower_part(lu[..., :k], -1)
        if L.size:
            L.reshape(-1, rows * k)[:, :k * (k + 1):k + 1] = 1
        U = upper_part(lu[..., :k, :])
    return P, L, U


def lu_gradient(gL: Any, gU: Any, P: Any, L: Any, U: Any) -> Any:
    """The gradient of A = P L U; the part of a rectangular matrix beyond its leading square depends on that square too."""
    rows, columns, k = L.shape[-2], U.shape[-1], L.shape[-1]
    zeros = late.zeros_like
    gL = zeros(L) if gL is None else gL
    gU = zeros(U) if gU is None else gU
    L1, U1, gL1, gU1 = L[..., :k, :], U[..., :, :k], gL[..., :k, :], gU[..., :, :k]
    lower, upper = L1.mH @ gL1, gU1 @ U1.mH
    if columns > k:
        gU2, U2 = gU[..., k:], U[..., k:]
        lower = lower - gU2 @ U2.mH
    if rows > k:
        gL2, L2 = gL[..., k:, :], L[..., k:, :]
        upper = upper - L2.mH @ gL2
    inner = lower.tril(-1) + upper.triu()
    made = linalg_solve_triangular(L1.mH, inner, upper=True, unitriangular=True)
    made = linalg_solve_triangular(U1.mH, made, upper=False, left=False)
    if columns > k:
        made = late.cat([made, linalg_solve_triangular(L1.mH, gU2, upper=True, unitriangular=True)], -1)
    if rows > k:
        made = late.cat([made, linalg_solve_triangular(U1.mH, gL2, upper=False, left=False)], -2)
    return P @ made


def lu_tangent(tangent: Any, P: Any, L: Any, U: Any) -> Any:
    rows, columns, k = L.shape[-2], U.shape[-1], L.shape[-1]
    moved = P.mT @ tangent
    L1, U1 = L[..., :k, :], U[..., :, :k]
    inner = linalg_solve_triangular(L1, moved[..., :k, :k], upper=False, unitriangular=True)
    inner = linalg_solve_triangular(U1, inner, upper=True, left=False)
    dL, dU = L1 @ inner.tril(-1), inner.triu() @ U1
    if columns > k:
        right = moved[..., k:] - dL @ U[..., k:]
        more = linalg_solve_triangular(L1, right, upper=False, unitriangular=True)
        return dL, late.cat([dU, more], -1)
    if rows > k:
        right = moved[..., k:, :] - L[..., k:, :] @ dU
        more = linalg_solve_triangular(U1, right, upper=True, left=False)
        return late.cat([dL, more], -2), dU
    return dL, dU


def packed(L: Any, U: Any, rows: int, columns: int) -> Any:
    """The strict lower triangle of L and the upper one of U in one matrix."""
    cat, k = late.cat, min(rows, columns)
    upper = U[..., :k].triu() if columns > k else U.triu()
    if columns > k:
        return cat([L.tril(-1) + upper, U[..., k:]], -1)
    if rows > k:
        return cat([L[..., :k, :].tril(-1) + upper, L[..., k:, :]], -2)
    return L.tril(-1) + upper


def lu_factor_gradient(grad: Any, LU: Any, pivots: Any, pivot: bool) -> Any:
    k = min(LU.shape[-2:])
    P, L, U = late.lu_unpack(LU, pivots)
    return lu_gradient(grad[..., :k].tril(-1), grad[..., :k, :].triu(), P, L, U)


def lu_factor_tangent(A_t: Any, LU: Any, pivots: Any) -> Any:
    P, L, U = late.lu_unpack(LU, pivots)
    L_t, U_t = lu_tangent(A_t, P, L, U)
    return packed(L_t, U_t, LU.shape[-2], LU.shape[-1]), None, None


linalg_lu_factor_ex = defop(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    kernel=lu_factor_kernel, vjp=dict(A=lu_factor_gradient), jvp=lu_factor_tangent, batch=stacked(2), variants="",
    lower="@native.lu_factor_ex",
)


def lu_factor(A: Any, pivot: bool) -> Any:
    made, pivots, info = linalg_lu_factor_ex(A, pivot=pivot)
    check_factorized(info, "torch.linalg.lu_factor")
    return linalg_lu_factor.result_type(made, pivots)


linalg_lu_factor = defop("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
                         out="same", kernel=lu_factor,
                         composite=True, variants="")
linalg_lu = defop(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    kernel=lu_kernel, vjp=dict(A=lambda grads, P, L, U, pivot: lu_gradient(grads[1], grads[2], P, L, U)),
    jvp=lambda A_t, P, L, U: (None, *lu_tangent(A_t, P, L, U)), batch=stacked(2), constant=(0,), variants="",
)


def lu_unpack_kernel(xp: Any, LU_data: Any, LU_pivots: Any, unpack_data: bool, unpack_pivots: bool) -> Any:
    if unpack_pivots and LU_pivots.dtype != INT32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
                           "function is intended to be used with the output produced by torch.linalg.lu_factor")
    check_unpack(LU_data, LU_pivots if unpack_pivots else None)
    return unpacked(xp, LU_data, LU_pivots, unpack_data, unpack_pivots)


def lu_unpack_gradient(grads: Any, LU_data_sym_argsize_minus_2: int, LU_data_sym_argsize_minus_1: int) -> Any:
    rows, columns = LU_data_sym_argsize_minus_2, LU_data_sym_argsize_minus_1
    _, gL, gU = grads
    some = gL if gL is not None else gU
    k = min(rows, columns)
    gL = some.new_zeros((*some.shape[:-2], rows, k)) if gL is None else gL
    gU = some.new_zeros((*some.shape[:-2], k, columns)) if gU is None else gU
    return packed(gL, gU, rows, columns)


def lu_unpack_tangent(LU_data_t: Any, unpack_data: bool) -> Any:
    if not unpack_data:
        return None, None, None
    k = min(LU_data_t.shape[-2:])
    return None, LU_data_t[..., :k].tril(-1), LU_data_t[..., :k, :].triu()


defop(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> "
    "(Tensor P, Tensor L, Tensor U)",
    kernel=lu_unpack_kernel, vjp=dict(LU_data=lu_unpack_gradient), jvp=lu_unpack_tangent, batch=stacked(2, 1), constant=(0,),
    variants="function",
)


def lu_solve_kernel(xp: Any, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    check_floating("torch.linalg.lu_solve", LU)
    if LU.dtype != B.dtype:
        raise RuntimeError(f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {legacy(LU)} and "
                           f"B of type {legacy(B)} instead")
    if pivots.dtype != INT32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_square("torch.linalg.lu_solve", LU, "LU")
    check_pivots(LU, pivots)
    check_product("linalg.lu_solve", LU, B, left)
    supported("linalg.lu_solve_cpu", LU, even_empty=False)
    if left:
        return column_major(lapack.lu_solve(xp, LU, pivots, B, adjoint))
    made = lapack.lu_solve(xp, LU, pivots, lapack.adjoint(B), not adjoint)
    return xp.ascontiguousarray(lapack.adjoint(made))


def lu_solve_gradients(grad: Any, LU: Any, pivots: Any, result: Any, left: bool, adjoint: bool, needed: Any) -> Any:
    inner = linalg_lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint) if needed[1] else None
    if not needed[0]:
        return None, inner
    if not left:
        grad, result, adjoint = grad.mH, result.mH, not adjoint
    P, L, U = late.lu_unpack(LU, pivots)
    if not adjoint:
        below = linalg_solve_triangular(U.mH, grad, upper=False)
        gU = -(below @ result.mH)
        gL = -(linalg_solve_triangular(L.mH, below, upper=True, unitriangular=True) @ (U @ result).mH)
    else:
        permuted = P.mT @ result
        below = linalg_solve_triangular(L, P.mT @ grad, upper=False, unitriangular=True)
        gL = -(permuted @ below.mH)
        gU = -((L.mH @ permuted) @ linalg_solve_triangular(U, below, upper=True).mH)
    return gL.tril(-1) + gU.triu(), inner


def lu_solve_tangent(LU_p: Any, LU_t: Any, pivots: Any, B_t: Any, result: Any, left: bool, adjoint: bool) -> Any:
    P, L, U = late.lu_unpack(LU_p, pivots)
    change = P @ (LU_t.tril(-1) @ U + L @ LU_t.triu())
    change = change.mH if adjoint else change
    return linalg_lu_solve(LU_p, pivots, B_t - (change @ result if left else result @ change), left=left, adjoint=adjoint)


linalg_lu_solve = defop(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    out="same",
    kernel=lu_solve_kernel, vjp={("LU", "B"): lu_solve_gradients}, jvp=lu_solve_tangent, batch=stacked(2, 1, 2), variants="",
    check=without_gradient("linalg_lu_solve", pivots=1),
)
LU_WARNING = ("torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
              "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be "
              "replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)")


def old_lu_solve(self: Any, LU_data: Any, LU_pivots: Any) -> Any:
    deprecated(LU_WARNING)()
    return linalg_lu_solve(LU_data, LU_pivots, self)


defop("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
      out="same", kernel=old_lu_solve, composite=True, autocast="float32")


OLD_LU_WARNING = (
    "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future "
    "PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = "
    "torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be "
    "replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)")


@expose
def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """L and U in one matrix and the row exchanges, with `get_infos` also the position of the first zero pivot."""
    deprecated(OLD_LU_WARNING)()
    made = linalg_lu_factor_ex(A, pivot=pivot)[:3 if get_infos else 2]
    if out is None:
        return tuple(made)
    for target, value in zip(out, made, strict=True):
        hooks.assign_out(target, value, "lu")
    return out
