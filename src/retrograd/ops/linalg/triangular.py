"""Triangular systems of linear equations, and what ops of linear algebra share: batching, checks, warnings of old names."""
from __future__ import annotations

import warnings
from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import OpDef, defop
from retrograd.ops import late
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import (
    broadcast_batch,
    check_matrix,
    check_square,
    column_major,
    legacy,
    supported,
)
from retrograd.ops.shared import families


# ---- batching
def stacked(*ranks: int) -> Any:
    """The batching rule for ops on batches of matrices or vectors (`ranks` of each tensor): examples extend the batch."""
    def rule(op: OpDef, args: Any, dims: Any, size: int) -> Any:
        return run_stacked(op, args, dims, size, ranks)
    return families.with_attributes(rule, core_dims=ranks[0])         # read by transforms/sparsity.py


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


# ---- checks and warnings
warned: set[str] = set()


def deprecated(message: str) -> Any:
    """A check that warns of the op, once."""
    def check(*args: Any) -> None:
        if message not in warned:
            warned.add(message)
            warnings.warn(message, UserWarning, stacklevel=2)
    return check


def check_systems(name: str, b: Any, a: Any) -> None:
    if a.dtype != b.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {legacy(b)} and A of type "
                           f"{legacy(a)} instead.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {a.shape[-2]} by {a.shape[-1]} but each b "
                           f"matrix is {b.shape[-2]} by {b.shape[-1]}")


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


# ---- triangular systems
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
