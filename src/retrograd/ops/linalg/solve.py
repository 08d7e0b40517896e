"""Linear algebra around LU, Cholesky and triangular matrices: factorizations, inverses, systems of equations, determinants."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import FLAG_WRAPPER, FUNCTIONS_BY_NAME
from retrograd.ops import late
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import (
    broadcast_batch,
    check_floating,
    check_info,
    check_matrix,
    check_pivots,
    check_square,
    check_unpack,
    column_major,
    legacy,
    not_positive,
    singular_inverse,
    singular_solve,
    supported,
)
from retrograd.ops.linalg.lapack import INT32, adjoint
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import without_gradient
from retrograd.ops.shared.elementwise import times
from retrograd.ops.shared.families import everything, is_watched, will_differentiate
from retrograd.ops.shared.triangles import lower_part, upper_part


# ---- batching
def stacked(*ranks: int) -> Any:
    """The batching rule for ops on batches of matrices or vectors (`ranks` of each tensor): examples extend the batch."""
    def rule(op: OpDef, args: Any, dims: Any, size: int) -> Any:
        return run_stacked(op, args, dims, size, ranks)
    rule.core_dims = ranks[0]         # read by transforms/sparsity.py
    return rule


def run_stacked(op: Any, args: Any, dims: Any, size: int, ranks: tuple[int, ...]) -> Any:
    places = [i for i in op.tensor_args if args[i] is not None]
    for i, rank in zip(places, ranks, strict=False):
        if args[i].array.ndim - (dims[i] is not None) < rank:
            name = op.name.replace("linalg_", "linalg.").lstrip("_")
            raise RuntimeError(f"{name}: The input tensor {op.schema.params[i].name} must have at least {rank} dimensions.")
    extra = max([args[i].ndim - (dims[i] is not None) - rank for i, rank in zip(places, ranks, strict=False)])
    moved = list(args)
    for i, rank in zip(places, ranks, strict=False):
        t = args[i]
        t = families.move_to_front(t, dims[i]) if dims[i] is not None else t.expand((size, *t.shape))
        missing = extra - (t.ndim - 1 - rank)
        moved[i] = t.reshape((size, *[1] * missing, *t.shape[1:])) if missing else t
    result = call(op, moved)
    if not op.multiple:
        return result, 0
    # an omitted output is empty, without batch dimensions
    return result, tuple([0 if t.ndim > 1 or tuple(t.shape) == (size,) else None for t in result])


# ---- for derivative rules
def halved_diagonal(t: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    lower = t.tril()
    return lower - times(lower.diagonal(0, -2, -1), 0.5).diag_embed(0, -2, -1)


def hermitian(t: Any) -> Any:
    return times(t + t.mH, 0.5)


def trace_of(t: Any) -> Any:
    return t.diagonal(0, -2, -1).sum(-1)


def scaled_identity(factor: Any, n: int) -> Any:
    """A batch of multiples of the identity."""
    return factor.unsqueeze(-1).expand((*factor.shape, n)).diag_embed(0, -2, -1)


# ---- Cholesky
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
    check_info(everything(info), "linalg.cholesky", not_positive)
    return made


defop("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
      out="same", kernel=linalg_cholesky, composite=True, variants="", autocast="float32")
CHOLESKY_WARNING = (
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
    "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid "
    "(symmetric positive definite) inputs.")
warned: set[str] = set()


def deprecated(message: str) -> Any:
    """A check that warns of the op, once."""
    def check(*args: Any) -> None:
        if message not in warned:
            warned.add(message)
            warnings.warn(message, UserWarning, stacklevel=2)
    return check


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


def check_systems(name: str, b: Any, a: Any) -> None:
    if a.dtype != b.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {legacy(b)} and A of type "
                           f"{legacy(a)} instead.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {a.shape[-2]} by {a.shape[-1]} but each b "
                           f"matrix is {b.shape[-2]} by {b.shape[-1]}")


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
    check_info(everything(info), "linalg.inv", singular_inverse)
    return made


defop("linalg_inv(Tensor A) -> Tensor",
      out="same", kernel=linalg_inv, composite=True, variants="", autocast="float32")
defop("inverse(Tensor self) -> Tensor",
      out="same", kernel=linalg_inv, composite=True, autocast="float32")


# ---- systems of equations
def has_vector(a_shape: Any, b_shape: Any) -> bool:
    """Whether the right-hand side is one vector per matrix."""
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1]))


def check_product(name: str, a: Any, b: Any, left: bool) -> None:
    check_matrix(name, b, "B")
    if (b.shape[-2] if left else b.shape[-1]) != a.shape[-1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                           f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})")
    problem = broadcast_problem(b.shape[:-2], a.shape[:-2])
    if problem is not None:
        raise RuntimeError(problem)


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


batched_solve.core_dims = 2

linalg_solve_ex_ = defop(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
    "(Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    kernel=solve_kernel, vjp={("A", "B"): solve_gradients}, jvp=solve_tangent, batch=batched_solve, constant=(1,),
    node="LinalgSolveExBackward0", variants="",
    out_form="result",
)


def linalg_solve(A: Any, B: Any, left: bool = True) -> Any:
    made, _, _, info = linalg_solve_ex_(A, B, left=left)
    check_info(everything(info), "torch.linalg.solve", singular_solve)
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


def solve_triangular_kernel(xp: Any, self: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    check_square("linalg.solve_triangular", self)
    check_product("linalg.solve_triangular", self, B, left)
    supported("triangular_solve_cpu", self)
    B = B.astype(self.dtype, copy=False)
    return column_major(lapack.solve_triangular(xp, self, B, upper, unitriangular, left))


def masked(t: Any, upper: bool, unitriangular: bool) -> Any:
    """The triangle of a matrix that a triangular solver reads."""
    return t.triu(int(unitriangular)) if upper else t.tril(-int(unitriangular))


def solve_triangular_gradients(grad: Any, self: Any, result: Any, upper: bool, left: bool, unitriangular: bool,
                               needed: Any) -> Any:
    inner = linalg_solve_triangular(self.mH, grad, upper=not upper, left=left, unitriangular=unitriangular)
    outer = None
    if needed[0]:
        outer = masked(-(inner @ result.mH) if left else -(result.mH @ inner), upper, unitriangular)
    return outer, inner if needed[1] else None


def solve_triangular_tangent(self_p: Any, self_t: Any, B_t: Any, result: Any, upper: bool, left: bool,
                             unitriangular: bool) -> Any:
    change = masked(self_t, upper, unitriangular)
    return linalg_solve_triangular(self_p, B_t - (change @ result if left else result @ change), upper=upper, left=left,
                                   unitriangular=unitriangular)


linalg_solve_triangular = defop(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    out="scalar",
    kernel=solve_triangular_kernel, vjp={("self", "B"): solve_triangular_gradients}, jvp=solve_triangular_tangent,
    batch=stacked(2, 2), variants="",
    lower="@native.solve_triangular",
)


def old_triangular_kernel(xp: Any, self: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    for name, array in (("b", self), ("A", A)):
        if array.ndim < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has "
                               f"{array.ndim} dimensions instead")
    check_systems("triangular_solve", self, A)
    supported("triangular_solve_cpu", self)
    b, coefficients = broadcast_batch(self, A)
    matrix = coefficients.swapaxes(-1, -2) if transpose else coefficients
    made = lapack.solve_triangular(xp, matrix, b, upper != transpose, unitriangular)
    return column_major(made), column_major(coefficients)


def old_triangular_gradients(grads: Any, self: Any, A: Any, solution: Any, upper: bool, transpose: bool, unitriangular: bool,
                             needed: Any) -> Any:
    grad, passed = grads
    inner = outer = None
    if grad is not None:
        conjugate = A.conj()
        inner = late.triangular_solve(grad, conjugate, upper, not transpose, unitriangular)[0]
        if needed[1]:
            outer = -(solution.conj() @ inner.mT) if transpose else -(inner @ solution.mH)
            outer = masked(outer, upper, unitriangular)
    if passed is not None and needed[1]:
        outer = passed if outer is None else outer + passed
    return inner if needed[0] else None, outer


def old_triangular_tangent(self_t: Any, A_p: Any, A_t: Any, solution: Any, upper: bool, transpose: bool,
                           unitriangular: bool) -> Any:
    change = masked(A_t, upper, unitriangular)
    right = self_t - (change.mT if transpose else change) @ solution
    return late.triangular_solve(right, A_p, upper, transpose, unitriangular)[0], A_t


TRIANGULAR_WARNING = (
    "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch "
    "release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
    "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B).")
defop(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
    "(Tensor solution, Tensor cloned_coefficient)",
    kernel=old_triangular_kernel, vjp={("self", "A"): old_triangular_gradients}, jvp=old_triangular_tangent,
    batch=stacked(2, 2), check=deprecated(TRIANGULAR_WARNING), autocast="float32",
    out_form="X(X, M)",
)


# ---- determinants
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
    with xp.errstate(all="ignore"):
        return xp.asarray(xp.prod(diagonal, -1) * parity), column_major(lu), pivots


def slogdet_kernel(xp: Any, A: Any) -> Any:
    lu, pivots = det_parts(xp, "linalg.slogdet", A)
    made = lapack.determinant(xp, lu, pivots, True)
    if made is not None:
        return *made, column_major(lu), pivots
    diagonal, parity = diagonal_and_parity(xp, lu, pivots)
    size = xp.abs(diagonal)
    with xp.errstate(all="ignore"):
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
        return late.zeros_like(A)
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


# ---- LU
def check_lu(name: str, A: Any, pivot: bool) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    supported("lu_cpu", A, even_empty=False)


def division_by_zero(name: str, info: Any) -> None:
    if info.size == 1 and not info.item():
        return
    places = np.flatnonzero(info)
    if len(places):
        k = int(info.reshape(-1)[places[0]])
        raise RuntimeError(f"{name}: {f'(Batch element {places[0]}): ' if info.ndim else ''}U[{k},{k}] is zero and using it on "
                           "lu_solve would result in a division by zero. If you still want to perform the factorization, "
                           "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")


def lu_factor_kernel(xp: Any, A: Any, pivot: bool, check_errors: bool) -> Any:
    check_lu("torch.lu_factor", A, pivot)
    lu, pivots, info = lapack.lu_factor(xp, A)
    if check_errors:
        division_by_zero("torch.linalg.lu_factor_ex", info)
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
    if columns > k:
        return cat([L.tril(-1) + U[..., :k].triu(), U[..., k:]], -1)
    if rows > k:
        return cat([L[..., :k, :].tril(-1) + U.triu(), L[..., k:, :]], -2)
    return L.tril(-1) + U.triu()


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
    division_by_zero("torch.linalg.lu_factor", everything(info))
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
