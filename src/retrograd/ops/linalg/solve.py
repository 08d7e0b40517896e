"""Inverses of matrices and systems of linear equations."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import OpDef, defop
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import (
    check_factorized,
    check_floating,
    check_info,
    check_square,
    column_major,
    legacy,
    singular_inverse,
    singular_solve,
    supported,
)
from retrograd.ops.linalg.lapack import adjoint
from retrograd.ops.linalg.lu import linalg_lu_solve
from retrograd.ops.linalg.triangular import check_product, has_vector, run_stacked, stacked
from retrograd.ops.shared.families import is_watched, with_attributes


# ---- inverses
def inv_kernel(xp: Any, A: Any, check_errors: bool) -> Any:
    check_square("linalg.inv", A)
    check_floating("linalg.inv", A, low_precision=False)
    made, info = lapack.inverse(xp, A)
    if check_errors:
        check_info(info, "linalg.inv_ex", singular_inverse)
    return column_major(made), info


linalg_inv_ex = defop(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    kernel=inv_kernel, vjp=dict(A=lambda grad, inverse: -(inverse.mH @ (grad @ inverse.mH))),
    jvp=lambda A_t, inverse: (-(inverse @ A_t @ inverse), None), batch=stacked(2), variants="", autocast="float32",
    out_form="inverse",
)


def linalg_inv(A: Any) -> Any:
    made, info = linalg_inv_ex(A)
    check_factorized(info, "linalg.inv")
    return made


defop("linalg_inv(Tensor A) -> Tensor",
      out="same", kernel=linalg_inv, composite=True, variants="", autocast="float32")
defop("inverse(Tensor self) -> Tensor",
      out="same", kernel=linalg_inv, composite=True, autocast="float32")


# ---- systems of equations
def solve_kernel(xp: Any, A: Any, B: Any, left: bool, check_errors: bool) -> Any:
    check_floating("linalg.solve", A)
    if A.dtype != B.dtype:
        raise RuntimeError(f"linalg.solve: Expected A and B to have the same dtype, but found A of type {legacy(A)} and B of "
                           f"type {legacy(B)} instead")
    check_square("linalg.solve", A)
    vector = has_vector(A.shape, B.shape)
    b = B[..., None] if vector else B
    check_product("linalg.solve", A, b, left)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this "
                           "case linalg.solve is equivalent to B / A.squeeze(-1)")
    supported("lu_cpu", A, even_empty=False)
    lu, pivots, info = lapack.lu_factor(xp, A)
    if left:
        made = lapack.lu_solve(xp, lu, pivots, b)
    else:
        made = adjoint(lapack.lu_solve(xp, lu, pivots, adjoint(b), True))
    if check_errors:
        check_info(info, "torch.linalg.solve_ex", singular_solve)
    made = made[..., 0] if vector else made
    made = column_major(made) if left and made.ndim > 1 else xp.ascontiguousarray(made)
    return made, column_major(lu), pivots, info


def solve_gradients(grad: Any, A: Any, LU: Any, pivots: Any, result: Any, left: bool, needed: Any) -> Any:
    """The gradients of a solve: with create_graph by another differentiable solve, else from the saved factors."""
    vector = has_vector(A.shape, result.shape)
    if vector:
        grad, result = grad.unsqueeze(-1), result.unsqueeze(-1)
    if is_watched():
        inner = linalg_solve(A.mH, grad, left)
    else:
        inner = linalg_lu_solve(LU, pivots, grad, left=left, adjoint=True)
    outer = None
    if needed[0]:
        outer = -(inner @ result.mH) if left else -(result.mH @ inner)
    return outer, (inner.squeeze(-1) if vector else inner) if needed[1] else None


def solve_tangent(A_p: Any, A_t: Any, B_p: Any, B_t: Any, result: Any, left: bool) -> Any:
    vector = has_vector(A_p.shape, B_p.shape)
    if vector:
        B_t, result = B_t.unsqueeze(-1), result.unsqueeze(-1)
    made = linalg_solve(A_p, B_t - (A_t @ result if left else result @ A_t), left)
    return made.squeeze(-1) if vector else made, None, None, None


def batched_solve(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    shapes = [tuple([n for k, n in enumerate(t.shape) if k != d]) for t, d in zip(args[:2], dims[:2], strict=True)]
    return run_stacked(op, args, dims, size, (2, 1 if has_vector(*shapes) else 2))


with_attributes(batched_solve, core_dims=2)         # read by transforms/sparsity.py

linalg_solve_ex_ = defop(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
    "(Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    kernel=solve_kernel, vjp={("A", "B"): solve_gradients}, jvp=solve_tangent, batch=batched_solve, constant=(1,),
    node="LinalgSolveExBackward0", variants="",
    out_form="result",
)


def linalg_solve(A: Any, B: Any, left: bool = True) -> Any:
    made, _, _, info = linalg_solve_ex_(A, B, left=left)
    check_factorized(info, "torch.linalg.solve")
    return made


def linalg_solve_ex(A: Any, B: Any, left: bool, check_errors: bool) -> Any:
    made, _, _, info = linalg_solve_ex_(A, B, left=left, check_errors=check_errors)
    return solve_ex.result_type(made, info)


defop("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
      out="same", kernel=linalg_solve, composite=True, variants="", autocast="float32")
solve_ex = defop(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    kernel=linalg_solve_ex, composite=True, variants="", out="same",
)
