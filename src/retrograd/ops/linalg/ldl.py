"""The factorization of symmetric and Hermitian matrices into L D L^T, and systems solved by it."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import NOT_IMPLEMENTED, defop
from retrograd.core.storage import contiguous_strides
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import (
    INT32,
    check_factorized,
    check_floating,
    check_info,
    check_square,
    column_major,
    singular_diagonal,
    supported,
)
from retrograd.ops.linalg.triangular import stacked
from retrograd.ops.memory.copy import meta_array


def ldl_factor_kernel(xp: Any, self: Any, hermitian: bool, check_errors: bool) -> Any:
    name = "torch.linalg.ldl_factor_ex"
    check_square(name, self)
    check_floating(name, self)
    supported("ldl_factor_kernel_cpu", self)
    factors, pivots, info = lapack.ldl_factor(xp, self, hermitian)
    if check_errors:
        check_info(info, name, singular_diagonal)
    return column_major(factors), pivots, info


ldl_factor_ex = defop(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> "
    "(Tensor LD, Tensor pivots, Tensor info)",
    kernel=ldl_factor_kernel, vjp=NOT_IMPLEMENTED, batch=stacked(2), variants="", constant=(1, 2),
    traits=("out_untracked",),
)


def ldl_factor_tensors(self: Any, hermitian: bool) -> Any:
    made, pivots, info = ldl_factor_ex(self, hermitian=hermitian)
    check_factorized(info, "torch.linalg.ldl_factor")
    return ldl_factor.result_type(made, pivots)


ldl_factor = defop("linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
                   kernel=ldl_factor_tensors, composite=True, variants="", out="same", traits=("out_untracked",))


def ldl_solve_kernel(xp: Any, LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
    check_square("torch.linalg.ldl_solve", LD)
    check_floating("torch.linalg.ldl_solve", LD)
    if B.dtype != LD.dtype:
        names = [BY_NUMPY[a.dtype].legacy for a in (B, LD)]
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {names[0]} and A of type {names[1]} "
                           "instead.")
    if B.ndim < 2:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions "
                           "instead")
    if B.shape[-2] != LD.shape[-1]:
        raise RuntimeError("Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is "
                           f"{LD.shape[-1]} by {LD.shape[-1]} but each b matrix is {B.shape[-2]} by {B.shape[-1]}")
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError("torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots "
                           f"with shape {list(pivots.shape)} instead")
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {BY_NUMPY[pivots.dtype].legacy}")
    check_exchanges(pivots, LD.shape[-1])
    supported("ldl_solve_kernel_cpu", LD)
    return column_major(lapack.ldl_solve(xp, LD, pivots.astype(INT32), B, hermitian))


def check_exchanges(pivots: Any, n: int) -> None:
    """Check the pivots, which LAPACK trusts: valid rows, and negative numbers in pairs."""
    rows = pivots.reshape(-1, n) if n else pivots.reshape(0, 0)
    if rows.size and rows.min() >= 1 and rows.max() <= n:            # no 2x2 blocks
        return
    sound = bool(((abs(rows) >= 1) & (abs(rows) <= n)).all())
    opened = np.zeros(len(rows), np.bool_)
    for k in range(n):
        negative = rows[:, k] < 0
        sound = sound and not (opened & ~negative).any()
        opened = negative & ~opened
    if not sound or opened.any():
        raise RuntimeError("Pivots given to ldl_solve must all be between 1 and LD.size(-2) in magnitude, and negative ones in "
                           "pairs. Did you properly pass the result of ldl_factor?")


def ldl_solve_meta(xp: Any, LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
    shape = (*lean.broadcast_shapes(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:])
    strides = contiguous_strides(shape)
    return meta_array(shape, (*strides[:-2], 1, max(shape[-2], 1)), B.dtype)


defop("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
      kernel=ldl_solve_kernel, meta=ldl_solve_meta, vjp=NOT_IMPLEMENTED, batch=stacked(2, 1, 2), variants="",
      traits=("out_untracked",))
