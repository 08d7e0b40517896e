"""Cholesky factors, and what is solved and inverted by them."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import (
    broadcast_batch,
    check_factorized,
    check_floating,
    check_info,
    check_square,
    column_major,
    not_positive,
    singular_inverse,
    supported,
)
from retrograd.ops.linalg.lapack import INT32
from retrograd.ops.linalg.triangular import check_systems, deprecated, linalg_solve_triangular, stacked
from retrograd.ops.shared.elementwise import times


def halved_diagonal(t: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    lower = t.tril()
    return lower - times(lower.diagonal(0, -2, -1), 0.5).diag_embed(0, -2, -1)


def cholesky_kernel(name: str) -> Any:
    def kernel(xp: Any, self: Any, upper: bool, check_errors: bool = False) -> Any:
        check_square("linalg.cholesky" if name != "cholesky" else name, self)
        if name != "cholesky":
            check_floating("linalg.cholesky", self)
        supported("cholesky_cpu", self, even_empty=False)
        if not self.size:
            made = self.copy() if name == "cholesky" else column_major(self)
            return made if name == "cholesky" else (made, xp.zeros(self.shape[:-2], INT32))
        made, info = lapack.cholesky(xp, self, upper)
        if check_errors or name == "cholesky":
            check_info(info, name, not_positive)
        if name == "cholesky":
            return column_major(made) if made.size else made
        return column_major(made), info
    return kernel


def cholesky_gradient(grad: Any, factor: Any, upper: bool) -> Any:
    if upper:
        factor, grad = factor.mH, grad.mH
    lower = (factor.mH @ grad).tril()
    middle = times(lower + lower.tril(-1).mH, 0.5)
    left = linalg_solve_triangular(factor.mH, middle, upper=True)
    return linalg_solve_triangular(factor, left, upper=False, left=False)


def cholesky_tangent(tangent: Any, factor: Any, upper: bool) -> Any:
    lower = factor.mH if upper else factor
    inner = linalg_solve_triangular(lower, tangent, upper=False)
    inner = linalg_solve_triangular(lower.mH, inner, upper=True, left=False)
    made = lower @ halved_diagonal(inner)
    return made.mH if upper else made


linalg_cholesky_ex = defop(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    kernel=cholesky_kernel("linalg.cholesky_ex"),
    vjp=dict(self=lambda grad, upper, L: cholesky_gradient(grad, L, upper)),
    jvp=lambda self_t, upper, L: (cholesky_tangent(self_t, L, upper), None), batch=stacked(2), variants="", autocast="float32",
    lower="@native.cholesky_ex",
    out_form="L",
)


def linalg_cholesky(self: Any, upper: bool) -> Any:
    made, info = linalg_cholesky_ex(self, upper=upper, check_errors=False)
    check_factorized(info, "linalg.cholesky")
    return made


defop("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
      out="same", kernel=linalg_cholesky, composite=True, variants="", autocast="float32")
CHOLESKY_WARNING = (
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
    "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid "
    "(symmetric positive definite) inputs.")


cholesky = defop(
    "cholesky(Tensor self, bool upper=False) -> Tensor",
    out="castable: cholesky",
    kernel=cholesky_kernel("cholesky"), check=deprecated(CHOLESKY_WARNING),
    vjp=dict(self=lambda grad, upper, result: cholesky_gradient(grad, result, upper)),
    jvp=lambda self_t, upper, result: cholesky_tangent(self_t, result, upper), batch=stacked(2), autocast="float32",
)


def cholesky_solve_kernel(xp: Any, self: Any, input2: Any, upper: bool) -> Any:
    for name, array in (("b", self), ("u", input2)):
        if array.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {array.ndim} dimensions instead")
    check_systems("cholesky_solve", self, input2)
    b, factor = broadcast_batch(self, input2)
    supported("cholesky_solve_cpu", b)
    return column_major(lapack.cholesky_solve(xp, factor, b, upper))


def cholesky_solve_gradients(grad: Any, self: Any, input2: Any, result: Any, upper: bool, needed: Any) -> Any:
    inner = late.cholesky_solve(grad, input2, upper)
    if not needed[1]:
        return inner, None
    outer = inner @ result.mH
    both = outer + outer.mH
    return inner if needed[0] else None, -(input2 @ both if upper else both @ input2)


def cholesky_solve_tangent(self_t: Any, input2_p: Any, input2_t: Any, result: Any, upper: bool) -> Any:
    change = input2_t.mH @ input2_p if upper else input2_t @ input2_p.mH
    return late.cholesky_solve(self_t - (change + change.mH) @ result, input2_p, upper)


defop(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    out="castable: cholesky_solve",
    kernel=cholesky_solve_kernel, vjp={("self", "input2"): cholesky_solve_gradients}, jvp=cholesky_solve_tangent,
    batch=stacked(2, 2), autocast="float32",
)


def cholesky_inverse_kernel(xp: Any, self: Any, upper: bool) -> Any:
    check_square("cholesky_inverse", self)
    supported("cholesky_inverse_out_cpu", self)
    made, info = lapack.cholesky_inverse(xp, self, upper)
    check_info(info, "cholesky_inverse", singular_inverse)
    return column_major(made)


def cholesky_inverse_gradient(grad: Any, self: Any, upper: bool, result: Any) -> Any:
    both = result @ (grad + grad.mH) @ result
    return -(self @ both) if upper else -(both @ self)


def cholesky_inverse_tangent(self_p: Any, self_t: Any, upper: bool, result: Any) -> Any:
    change = self_t.mH @ self_p if upper else self_t @ self_p.mH
    return -(result @ (change + change.mH) @ result)


defop(
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    out="castable: cholesky_inverse",
    kernel=cholesky_inverse_kernel, vjp=dict(self=cholesky_inverse_gradient), jvp=cholesky_inverse_tangent, batch=stacked(2),
    autocast="float32",
)
