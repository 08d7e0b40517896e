"""torch.linalg: linear algebra."""
from __future__ import annotations

from retrograd.core.api import make
from retrograd.ops.linalg.factors import LinAlgError

NAMES = ("cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
         "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
         "lu_factor_ex", "lu_solve", "matmul",
         "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
         "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm")
__all__ = ["LinAlgError", *NAMES]

for name in NAMES:
    globals()[name] = make(f"linalg_{name}", False)
    globals()[name].__module__ = "torch._C._linalg"
del name
