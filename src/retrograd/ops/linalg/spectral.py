"""Linear algebra around orthogonal matrices: QR, eigenvalues, singular values, pseudoinverses, least squares.

NOTE [Gauge]
Eigenvectors and singular vectors are determined up to a factor of modulus 1 (a sign, if real). Their derivatives are
those of the part that is determined; in the complex case a loss that depends on the phase is refused in backward.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.dtypes import is_inexact_type
from retrograd.core.modes import is_seen
from retrograd.core.opdef import NOT_IMPLEMENTED, OpDef, defop
from retrograd.core.tensor import FUNCTIONS_BY_NAME, Tensor
from retrograd.ops import late
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import (
    LinAlgError,
    check_floating,
    check_matrix,
    check_square,
    column_major,
    legacy,
    supported,
)
from retrograd.ops.linalg.lapack import adjoint
from retrograd.ops.linalg.solve import linalg_solve
from retrograd.ops.linalg.triangular import deprecated, linalg_solve_triangular, run_stacked, stacked
from retrograd.ops.shared.elementwise import must_not_write, times
from retrograd.ops.shared.families import everything, will_differentiate, with_attributes


def real_part(t: Any) -> Any:
    return late.real(t) if t.is_complex() else t


def diagonal_of(t: Any) -> Any:
    return t.diagonal(0, -2, -1)


def with_diagonal(fresh: Any, diagonal: Any) -> Any:
    """The matrix, which must be unshared, with another diagonal, in place."""
    if must_not_write(fresh, diagonal):
        return fresh - diagonal_of(fresh).diag_embed(0, -2, -1) + diagonal.diag_embed(0, -2, -1)
    diagonal_of(fresh).copy_(diagonal)
    return fresh


def check_phase(name: str, what: str, ending: str, phases: Any) -> None:
    """Refuse a loss that depends on the phase of complex vectors."""
    if not np.allclose(everything(phases).imag, 0, 1e-2, 1e-2):
        raise RuntimeError(f"{name}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The "
                           f"specified loss function depends on this {ending}")


# ---- QR
def qr_kernel(xp: Any, A: Any, mode: str) -> Any:
    check_matrix("linalg.qr", A)
    check_floating("linalg.qr", A)
    if mode not in ("reduced", "r", "complete"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    supported("geqrf_cpu", A)
    if A.size:
        Q, R = lapack.qr(xp, A, mode)
        return xp.empty(0, A.dtype) if Q is None else Q, R
    if mode == "r":
        return xp.empty(0, A.dtype), column_major(xp.linalg.qr(A, "r"))
    Q, R = xp.linalg.qr(A, mode)
    return column_major(Q), column_major(R)


def halved_hermitian(t: Any) -> Any:
    """The sum of a matrix and its adjoint, with the diagonal counted once."""
    both = t + t.mH
    if is_seen():
        diagonal_of(both).mul_(0.5)
        return both
    return both - times(diagonal_of(both), 0.5).diag_embed(0, -2, -1)


def qr_gradient(grads: Any, Q: Any, R: Any, mode: str) -> Any:
    gQ, gR = grads
    rows, columns = Q.shape[-2] if mode != "r" else R.shape[-2], R.shape[-1]
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                           "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.")
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    gQ = late.zeros_like(Q) if gQ is None else gQ
    if rows >= columns:
        return qr_square_gradient(gQ, gR, Q, R)
    gR = late.zeros_like(R) if gR is None else gR
    rest, grest = R[..., rows:], gR[..., rows:]
    first = qr_square_gradient(gQ + Q @ (rest @ grest.mH), gR[..., :rows], Q, R[..., :rows])
    return late.cat([first, Q @ grest], -1)


def qr_square_gradient(gQ: Any, gR: Any, Q: Any, R: Any) -> Any:
    if gR is None:
        inner = -(Q.mH @ gQ)
    else:
        inner = gR @ R.mH
        inner = inner - Q.mH @ gQ
    total = gQ + Q @ halved_hermitian(inner.triu())
    return linalg_solve_triangular(R.mH, total, upper=False, left=False)


def qr_tangent(A_t: Any, Q: Any, R: Any, mode: str) -> Any:
    rows, columns = A_t.shape[-2:]
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                           "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.")
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    k = min(rows, columns)
    scaled = linalg_solve_triangular(R[..., :k], A_t[..., :k], upper=True, left=False)
    inner = Q.mH @ scaled
    inner = halved_hermitian(inner).triu() if k else inner
    dQ = scaled - Q @ inner
    dR = inner @ R[..., :k]
    if columns > rows:
        more = dQ.mH @ (Q @ R[..., k:]) + Q.mH @ A_t[..., k:]
        dR = late.cat([dR, more], -1)
    return dQ, dR


linalg_qr = defop(
    'linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)',
    out="same",
    kernel=qr_kernel, vjp=dict(A=qr_gradient), jvp=qr_tangent, batch=stacked(2), variants="", autocast="float32",
)


def old_qr(self: Any, some: bool) -> Any:
    warn_of_qr()
    return qr.result_type(*linalg_qr(self, "reduced" if some else "complete"))


QR_WARNING = (
    "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
    "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
    "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')")
warn_of_qr = deprecated(QR_WARNING)
qr = defop("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
           out="same", kernel=old_qr, composite=True, autocast="float32", out_form="Q")


def geqrf_kernel(xp: Any, self: Any) -> Any:
    if self.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    supported("geqrf_cpu", self)
    vectors, tau = lapack.geqrf(xp, self)
    return column_major(vectors), tau


# ---- eigenvalues of Hermitian matrices
def eigh_kernel(xp: Any, A: Any, UPLO: str, compute_v: bool) -> Any:
    check_square("linalg.eigh", A)
    if UPLO[:1].upper() not in ("L", "U") or len(UPLO) != 1:
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    supported("linalg_eigh_cpu", A, even_empty=False)
    if not A.size:
        return xp.empty(A.shape[:-1], A.real.dtype), column_major(A) if compute_v else xp.empty(0, A.dtype)
    try:
        if compute_v:
            values, vectors = xp.linalg.eigh(A, UPLO.upper())
            return values, column_major(vectors)
        values, _, info = lapack.eigh(xp, A, UPLO.upper() == "L", False)
        failed = info.item() if info.size == 1 else info.any()
    except xp.linalg.LinAlgError:
        failed = True
    if failed:
        raise LinAlgError(
            f"linalg.eigh: {where_failed(xp, A)}The algorithm failed to converge because the input matrix is ill-conditioned "
            f"or has too many repeated eigenvalues (error code: {A.shape[-1] - 1}).")
    return values, xp.empty(0, A.dtype)


def where_failed(xp: Any, A: Any) -> str:
    """The index of the first non-finite matrix of a batch, for the error."""
    if A.ndim == 2:
        return ""
    return f"(Batch element {int(xp.argmin(xp.isfinite(A).all((-2, -1)).reshape(-1)))}): "


def gaps(values: Any) -> Any:
    """The differences of all eigenvalues, with ones on the diagonal."""
    differences = values.unsqueeze(-2) - values.unsqueeze(-1)
    return with_diagonal(differences, late.ones_like(values))


def eigh_gradient(grads: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    gL, gV = grads
    if gV is None:
        return (eigenvectors * gL.unsqueeze(-2)) @ eigenvectors.mH
    inner = eigenvectors.mH @ gV
    if inner.is_complex():
        check_phase("linalg_eigh_backward", "eigenvectors", "quantity, so it is ill-defined.", diagonal_of(inner))
    inner = times(inner - inner.mH, 0.5) / gaps(eigenvalues)        # tangent to the unitary matrices
    along = late.zeros_like(eigenvalues) if gL is None else gL
    return eigenvectors @ (with_diagonal(inner, along.to(inner.dtype)) @ eigenvectors.mH)


def eigh_tangent(A_t: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    inner = eigenvectors.mH @ A_t @ eigenvectors
    values = real_part(diagonal_of(inner))
    inner = inner / gaps(eigenvalues)
    return values, eigenvectors @ with_diagonal(inner, late.zeros_like(diagonal_of(inner)))


linalg_eigh_ = defop(
    '_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)',
    kernel=eigh_kernel, vjp=dict(A=eigh_gradient), jvp=eigh_tangent, batch=stacked(2), variants="",
    out_form="eigenvalues",
)
linalg_eigh = defop('linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
                    out="same", composite=True,
                    kernel=lambda self, UPLO: linalg_eigh.result_type(*linalg_eigh_(self, UPLO)), variants="",
                    autocast="float32", out_form="eigvals(eigvals, eigvecs)")
linalg_eigvalsh = defop('linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor',
                        out="same", composite=True, variants="",
                        kernel=lambda self, UPLO: linalg_eigh_(self, UPLO, will_differentiate(self))[0], autocast="float32")


# ---- eigenvalues of any matrix
def complex_type(array: Any) -> Any:
    return np.dtype(np.complex128 if array.dtype.char in "dD" else np.complex64)


def eig_kernel(xp: Any, self: Any) -> Any:
    if self.dtype.kind in "fc" and not xp.isfinite(self).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    check_eig("linalg.eig", self)
    values, vectors = xp.linalg.eig(self)
    made = complex_type(self)
    return values.astype(made, copy=False), column_major(vectors.astype(made, copy=False))


def check_eig(name: str, self: Any) -> None:
    if not is_inexact_type(self.dtype):
        raise RuntimeError(f"Unknown Complex ScalarType for {legacy(self)}")
    check_square(name, self)
    supported("linalg_eig_out_cpu", self)


def eigvals_kernel(xp: Any, self: Any) -> Any:
    check_eig("linalg.eigvals", self)
    if not xp.isfinite(self).all():
        return lean.full(self.shape[:-1], complex(xp.nan, xp.nan), complex_type(self))
    return xp.linalg.eigvals(self).astype(complex_type(self), copy=False)


def eigvals_gradient(grad: Any, self: Any) -> Any:
    eigenvalues, eigenvectors = linalg_eig(self)
    return eig_gradient([grad, None], eigenvalues, eigenvectors, self.dtype)


def eig_gradient(grads: Any, eigenvalues: Any, eigenvectors: Any, self_scalar_type: Any) -> Any:
    made = eig_complex_gradient(grads, eigenvalues, eigenvectors)
    return made if self_scalar_type.is_complex else late.real(made)


def eig_complex_gradient(grads: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    gL, gV = grads
    if gV is None:
        return linalg_solve(eigenvectors.mH, gL.unsqueeze(-1) * eigenvectors.mH)
    inner = eigenvectors.mH @ gV
    own = diagonal_of(inner)
    check_phase("linalg_eig_backward", "eigenvectors", "quantity, so it is ill-defined.", own)
    inner = inner - eigenvectors.mH @ (eigenvectors * late.real(own).unsqueeze(-2))
    along = late.zeros_like(eigenvalues) if gL is None else gL
    inner = with_diagonal(inner / gaps(eigenvalues.conj()), along)
    return linalg_solve(eigenvectors.mH, inner @ eigenvectors.mH)


def eig_tangent(self_t: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    inner = linalg_solve(eigenvectors, self_t.to(eigenvectors.dtype) @ eigenvectors)
    values = diagonal_of(inner)
    inner = inner / gaps(eigenvalues)
    moved = eigenvectors @ with_diagonal(inner, late.zeros_like(values))
    lengthened = late.real((eigenvectors.conj() * moved).sum(-2, keepdim=True))
    return values, moved - eigenvectors * lengthened


linalg_eig = defop(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    out="castable: torch.linalg.eig",
    kernel=eig_kernel, vjp=dict(self=eig_gradient), jvp=eig_tangent, batch=stacked(2), variants="", autocast="float32",
)
linalg_eigvals_ = defop(
    "_linalg_eigvals(Tensor self) -> Tensor", kernel=eigvals_kernel,
    vjp=dict(self=eigvals_gradient),
    jvp=lambda self_p, self_t: eig_tangent(self_t, *linalg_eig(self_p))[0], batch=stacked(2), variants="", out=False,
)


def linalg_eigvals(self: Any) -> Any:
    if will_differentiate(self) or is_seen():
        return linalg_eig(self)[0]
    return linalg_eigvals_(self)


defop("linalg_eigvals(Tensor self) -> Tensor",
      out="castable: torch.linalg.eigvals", kernel=linalg_eigvals, composite=True, variants="", autocast="float32",
      traits=("out_untracked",))


# ---- singular values
def svd_kernel(xp: Any, A: Any, full_matrices: bool, compute_uv: bool, driver: Any) -> Any:
    check_matrix("linalg.svd", A)
    check_floating("linalg.svd", A)
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
                           "backend.")
    supported("linalg_svd_cpu", A, even_empty=False)
    if A.size:
        U, S, Vh, info = lapack.svd(xp, A, full_matrices, compute_uv)
        if info.item() if info.size == 1 else info.any():
            raise not_converged(xp, A)
        return (column_major(U), S, column_major(Vh)) if compute_uv else (xp.empty(0, A.dtype), S, xp.empty(0, A.dtype))
    matrix = A if A.dtype.char in "fdFD" else A.astype(xp.float32)
    made = A.real.dtype
    if not compute_uv:
        S = xp.linalg.svd(matrix, compute_uv=False).astype(made, copy=False)
        return xp.empty(0, A.dtype), S, xp.empty(0, A.dtype)
    U, S, Vh = xp.linalg.svd(matrix, full_matrices)
    U, Vh = U.astype(A.dtype, copy=False), Vh.astype(A.dtype, copy=False)
    return column_major(U), S.astype(made, copy=False), column_major(Vh)


def not_converged(xp: Any, A: Any) -> Exception:
    return LinAlgError(f"linalg.svd: {where_failed(xp, A)}The algorithm failed to converge because the input matrix contained "
                       "non-finite values.")


def svd_gaps(S: Any) -> Any:
    return gaps(S) * with_ones(S.unsqueeze(-2) + S.unsqueeze(-1))


def with_ones(t: Any) -> Any:
    return with_diagonal(t, late.ones_like(diagonal_of(t)))


def skew(t: Any) -> Any:
    return t - t.mH


def svd_gradient(grads: Any, U: Any, S: Any, Vh: Any, full_matrices: bool) -> Any:
    gU, gS, gVh = grads
    k = S.shape[-1]
    if U.numel() == 0 and S.numel():
        raise RuntimeError("svd_backward: Cannot compute the gradient of the singular vectors without computing them.")
    U, Vh = U[..., :k], Vh[..., :k, :]
    gU = None if gU is None else gU[..., :k]
    gVh = None if gVh is None else gVh[..., :k, :]
    if gU is None and gVh is None:
        return U @ (gS.unsqueeze(-1) * Vh) if U.shape[-2] >= Vh.shape[-1] else (U * gS.unsqueeze(-2)) @ Vh
    left = None if gU is None else skew(U.mH @ gU)
    right = None if gVh is None else skew(Vh @ gVh.mH)
    if U.is_complex():
        phases = [diagonal_of(t) for t in (left, right) if t is not None]
        check_phase("svd_backward", "singular vectors", "phase term, making it ill-defined.", sum(phases[1:], phases[0]))
    inner = None
    if left is not None:
        inner = left * S.unsqueeze(-2)
    if right is not None:
        part = S.unsqueeze(-1) * right
        inner = part if inner is None else inner + part
    inner = inner / svd_gaps(S)
    if gS is not None:
        inner = inner + gS.diag_embed(0, -2, -1)
    if left is not None and right is not None and U.is_complex():
        inner = inner + (diagonal_of(left) / times(S, 2)).diag_embed(0, -2, -1)
    if U.shape[-2] > k and gU is not None:
        scaled = gU / S.unsqueeze(-2)
        return (U @ inner + scaled - U @ (U.mH @ scaled)) @ Vh
    if U.shape[-2] >= Vh.shape[-1]:
        return U @ (inner @ Vh)
    total = inner @ Vh
    if gVh is not None:
        scaled = gVh / S.unsqueeze(-1)
        total = total + scaled - (scaled @ Vh.mH) @ Vh
    return U @ total


def svd_tangent(A_t: Any, U: Any, S: Any, Vh: Any, full_matrices: bool) -> Any:
    k, rows, columns = S.shape[-1], U.shape[-2], Vh.shape[-1]
    if full_matrices and rows != columns:
        # Vectors beyond the singular values are an arbitrary basis of the complement: treated as constants.
        dU, values, dVh = svd_tangent(A_t, U.narrow(-1, 0, k), S, Vh.narrow(-2, 0, k), False)
        return (late.cat([dU, late.zeros_like(U.narrow(-1, k, rows - k))], -1), values,
                late.cat([dVh, late.zeros_like(Vh.narrow(-2, k, columns - k))], -2))
    inner = U.mH @ A_t @ Vh.mH
    values = real_part(diagonal_of(inner))
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    distances = svd_gaps(S)
    left = (inner * row + column * inner.mH) / distances
    right = (column * inner + inner.mH * row) / distances
    turning = late.zeros_like(diagonal_of(inner))
    if inner.is_complex():
        turning = (diagonal_of(inner) - values) / times(S, 2)
    dU = U @ with_diagonal(left, turning)
    dV = Vh.mH @ with_diagonal(right, -turning)
    if rows > k:
        beyond = A_t @ Vh.mH
        dU = dU + (beyond - U @ (U.mH @ beyond)) / row
    if columns > k:
        beyond = A_t.mH @ U
        dV = dV + (beyond - Vh.mH @ (Vh @ beyond)) / row
    return dU, values, dV.mH


linalg_svd_ = defop(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> "
    "(Tensor U, Tensor S, Tensor Vh)",
    kernel=svd_kernel, vjp=dict(A=svd_gradient), jvp=svd_tangent, batch=stacked(2), variants="",
    out_form="U",
)
linalg_svd = defop(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    out="same", variants="",
    composite=True,
    kernel=lambda A, full_matrices, driver: linalg_svd.result_type(*linalg_svd_(A, full_matrices, driver=driver)),
    autocast="float32",
    out_form="U",
)
FUNCTIONS_BY_NAME["linalg_svd"] = linalg_svd
linalg_svdvals = defop("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
                       out="same", composite=True, variants="",
                       kernel=lambda A, driver: linalg_svd_(A, False, will_differentiate(A), driver=driver)[1],
                       autocast="float32")


def old_svd(self: Any, some: bool, compute_uv: bool) -> Any:
    if self.ndim < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {self.ndim} dimensions instead")
    if compute_uv:
        U, S, Vh = linalg_svd_(self, not some)
        return svd.result_type(U, S, Vh.mH)
    rows, columns = self.shape[-2:]
    S = linalg_svdvals(self)
    zeros = [self.new_zeros((*self.shape[:-2], n, n), requires_grad=False) for n in (rows, columns)]
    return svd.result_type(zeros[0], S, zeros[1].mT)


svd = defop("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
            out="same", kernel=old_svd,
            composite=True, autocast="float32", out_form="U")


# ---- pseudoinverses
def tolerance(xp: Any, given: Any, default: Any, shape: Any) -> Any:
    if given is None:
        return default
    return lean.broadcast_to(given, lean.broadcast_shapes(given.shape, shape))[..., None]


def pinv_kernel(xp: Any, self: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if self.ndim < 2 or self.dtype.char not in "fdFD":
        raise RuntimeError(f"linalg.pinv({legacy(self)}{{{list(self.shape)}}}): expected a tensor with 2 or more dimensions of "
                           "float, double, cfloat or cdouble types")
    if self.size == 0:
        return xp.zeros((*self.shape[:-2], self.shape[-1], self.shape[-2]), self.dtype)
    if hermitian:
        check_square("linalg.eigh", self)
        S, U, _ = lapack.eigh(xp, self, True, True)
        size, Vh = xp.abs(S), adjoint(U)
    else:
        U, S, Vh, info = lapack.svd(xp, self, False, True)
        if info.any():
            raise not_converged(xp, self)
        size = S
    relative = max(self.shape[-2:]) * np.finfo(self.dtype).eps if rtol is None and (atol is None or not (atol > 0).any()) else 0
    bound = xp.maximum(tolerance(xp, atol, 0.0, self.shape[:-2]),
                       tolerance(xp, rtol, relative, self.shape[:-2]) * size.max(-1, keepdims=True))
    inverse = xp.where(size > bound, 1 / S, 0).astype(S.dtype)
    return xp.ascontiguousarray((adjoint(Vh) * inverse[..., None, :]) @ adjoint(U)).astype(self.dtype, copy=False)


def pinv_gradient(grad: Any, self: Any, result: Any) -> Any:
    """Golub and Pereyra's formula, with the smaller products first."""
    rows, columns = self.shape[-2:]
    P, Ph, gh = result, result.mH, grad.mH
    if rows <= columns:
        K = gh @ P
        KPh = K @ Ph
        return -(P @ K).mH + KPh - (self @ P) @ KPh + (Ph @ P) @ (gh - K @ self)
    K = P @ gh
    PhK = Ph @ K
    return -(K @ P).mH + (gh - self @ K) @ P @ Ph + PhK - (PhK @ P) @ self


def pinv_tangent(self_p: Any, self_t: Any, result: Any) -> Any:
    P, Ph, th = result, result.mH, self_t.mH
    first = P @ self_t @ P
    second = P @ (Ph @ th)
    third = (th @ Ph) @ P
    return -first + second - (second @ self_p) @ P + third - P @ (self_p @ third)


linalg_pinv_tensors = defop(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
    out="castable: linalg.pinv",
    kernel=pinv_kernel, vjp=dict(self=pinv_gradient), jvp=pinv_tangent, batch=stacked(2, 0, 0), variants="",
)


def as_tolerance(self: Any, value: Any) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    return late.full((), value, dtype=late.real(self.detach()).dtype if self.is_complex() else self.dtype, device=self.device)


def pinv(self: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    if rtol is None and self.array.dtype.char not in "fdFD":
        raise RuntimeError("This function doesn't handle types other than float and double")
    return linalg_pinv_tensors(self, atol=as_tolerance(self, atol), rtol=as_tolerance(self, rtol), hermitian=hermitian)


def pinv_rcond(self: Any, rcond: Any, hermitian: bool) -> Any:
    if rcond.is_complex():
        raise RuntimeError(f"torch.linalg.pinv: rcond tensor of complex type is not supported. Got {rcond.dtype.legacy}")
    return pinv(self, 0.0, rcond, hermitian)


defop("linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
      out="castable: linalg.pinv",
      kernel=pinv, composite=True, variants="")
defop("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
      out="castable: linalg.pinv", composite=True, variants="",
      kernel=lambda self, rcond, hermitian: pinv(self, 0.0, rcond, hermitian), traits=("out_copied",))
defop("linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
      out="castable: linalg.pinv", composite=True, variants="",
      kernel=pinv_rcond, traits=("out_copied",), out_form="out_rcond_tensor")
defop("pinverse(Tensor self, float rcond=1e-15) -> Tensor", composite=True, out=False,
      kernel=lambda self, rcond: pinv(self, 0.0, rcond), autocast="float32")


# ---- least squares
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq_kernel(xp: Any, self: Any, b: Any, rcond: Any, driver: Any) -> Any:
    check_lstsq(self, b, driver)
    driver = driver or "gelsy"
    vector = self.ndim - 1 == b.ndim and b.shape == self.shape[:-1]
    right = b[..., None] if vector else b
    rows, columns = self.shape[-2:]
    bound = max(rows, columns) * np.finfo(self.dtype).eps if rcond is None else rcond
    made, ranks, values = lapack.least_squares(xp, self, right, driver, bound)
    empty = xp.empty(0, values.dtype)
    rank = ranks.astype(xp.int64) if driver != "gels" else xp.empty(0, xp.int64)
    residuals = empty
    if rows > columns and driver != "gelsy" and (driver == "gels" or (rank == columns).all()):
        residuals = (xp.abs(made[..., columns:, :]) ** 2).sum(-2)
    made = made[..., :columns, :]
    solution = xp.ascontiguousarray(made[..., 0]) if vector else made
    return solution, residuals, rank, values if driver in ("gelsd", "gelss") else empty


def check_lstsq(self: Any, b: Any, driver: Any) -> None:
    name = "torch.linalg.lstsq"
    if self.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if self.dtype != b.dtype:
        raise RuntimeError(f"{name}: Expected input and other to have the same dtype, but got input's dtype {legacy(self)} and "
                           f"other's dtype {legacy(b)}")
    if not 0 <= self.ndim - b.ndim <= 1:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    if self.ndim - 1 == b.ndim:
        if self.shape[-2] != b.shape[-1]:
            raise RuntimeError(f"{name}: input.size(-2) should match other.size(-1)")
    elif self.shape[-2] != b.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-2)")
    if driver is not None and driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if self.dtype.char not in "fdFD":
        raise RuntimeError("This function doesn't handle types other than float and double")


def lstsq_gradients(grads: Any, self: Any, b: Any, solution: Any, needed: Any) -> Any:
    grad, gresiduals = grads[:2]
    vector = self.ndim - 1 == b.ndim
    if vector:
        b, solution = b.unsqueeze(-1), solution.unsqueeze(-1)
        grad = None if grad is None else grad.unsqueeze(-1)
    matrix = right = None
    if grad is not None:
        inverse = pinv(self)
        matrix = pinv_gradient(grad @ b.mH, self, inverse) if needed[0] else None
        right = inverse.mH @ grad if needed[1] else None
    if gresiduals is not None and gresiduals.numel():
        off, weight = self @ solution - b, gresiduals.unsqueeze(-2)
        if needed[0]:
            part = times((weight * off) @ solution.mH, 2)
            matrix = part if matrix is None else matrix + part
        if needed[1]:
            part = times(weight, -2) * off
            right = part if right is None else right + part
    return matrix, right.squeeze(-1) if vector and right is not None else right


def lstsq_tangent(self_p: Any, self_t: Any, b_p: Any, b_t: Any, solution: Any, residuals: Any) -> Any:
    vector = self_p.ndim - 1 == b_p.ndim
    if vector:
        b_p, b_t, solution = (t.unsqueeze(-1) for t in (b_p, b_t, solution))
    inverse = pinv(self_p)
    made = pinv_tangent(self_p, self_t, inverse) @ b_p + inverse @ b_t
    off = late.zeros_like(residuals)
    if residuals.numel():
        difference = self_p @ solution - b_p
        off = times(real_part(difference.conj() * (self_t @ solution - b_t)).sum(-2), 2)
    return made.squeeze(-1) if vector else made, off, None, None


def batched_lstsq(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    ranks = [t.ndim - (d is not None) for t, d in zip(args[:2], dims[:2], strict=True)]
    return run_stacked(op, args, dims, size, (2, 1 if ranks[0] - 1 == ranks[1] else 2))


with_attributes(batched_lstsq, core_dims=2)         # read by transforms/sparsity.py

linalg_lstsq = defop(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
    "(Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    out="castable: torch.linalg.lstsq",
    kernel=lstsq_kernel, vjp={("self", "b"): lstsq_gradients}, jvp=lstsq_tangent, batch=batched_lstsq, constant=(3,),
    variants="", autocast="float32",
)
geqrf = defop("geqrf(Tensor self) -> (Tensor a, Tensor tau)",
              out="castable: torch.geqrf", kernel=geqrf_kernel, vjp=NOT_IMPLEMENTED, batch=stacked(2),
              real_only=True, autocast="float32", out_form="a")
