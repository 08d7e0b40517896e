"""Shared parts of linear algebra kernels: checks of operands, error texts, layouts of results."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean, storage
from retrograd.core.dtypes import BY_NUMPY, is_inexact_type
from retrograd.core.hooks import hooks
from retrograd.core.modes import is_seen
from retrograd.core.opdef import defop
from retrograd.ops.shared.families import everything, wrap_dim

INT32 = np.dtype(np.int32)


class LinAlgError(RuntimeError):
    """Raised when a matrix does not have the property that an operation needs, such as an inverse."""


LinAlgError.__module__, LinAlgError.__name__, LinAlgError.__qualname__ = "torch._C", "_LinAlgError", "_LinAlgError"


# ---- checks
def legacy(array: Any) -> str:
    return BY_NUMPY[array.dtype].legacy


def check_matrix(name: str, array: Any, what: str = "A") -> None:
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {what} must have at least 2 dimensions.")


def check_square(name: str, array: Any, what: str = "A") -> None:
    check_matrix(name, array, what)
    if array.shape[-1] != array.shape[-2]:
        raise RuntimeError(f"{name}: {what} must be batches of square matrices, but they are {array.shape[-2]} by "
                           f"{array.shape[-1]} matrices")


def check_floating(name: str, array: Any, low_precision: bool = True) -> None:
    if not is_inexact_type(array.dtype):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {legacy(array)}")
    if not low_precision and array.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {legacy(array)}")


def supported(kernel: str, array: Any, even_empty: bool = True) -> None:
    """Check for LAPACK's dtypes, single and double precision; some ops skip it for empty inputs."""
    if array.dtype.char not in "fdFD" and (even_empty or array.size):
        raise NotImplementedError(f'"{kernel}" not implemented for \'{legacy(array)}\'')


def check_info(info: Any, name: str, problem: Any, error: type[RuntimeError] = LinAlgError) -> None:
    """Raise for the first matrix of a stack that could not be factorized; `problem` makes the text from its info."""
    if info.size == 1 and not info.item():
        return
    places = np.flatnonzero(info)
    if len(places):
        which = f"(Batch element {places[0]}): " if info.ndim else ""
        raise error(f"{name}: {which}{problem(int(info.reshape(-1)[places[0]]))}")


def singular_inverse(info: int) -> str:
    return (f"The diagonal element {info} is zero, the inversion could not be completed because the input matrix is "
            "singular.")


def not_positive(info: int) -> str:
    return ("The factorization could not be completed because the input is not positive-definite (the leading minor of "
            f"order {info} is not positive-definite).")


def singular_solve(info: int) -> str:
    return "The solver failed because the input matrix is singular."


def singular_factor(info: int) -> str:
    return (f"U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
            "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")


def singular_diagonal(info: int) -> str:
    return f"D[{info},{info}] is zero and using it on ldl_solve would result in a division by zero."


def other_problem(info: int) -> str:
    return f"The factorization could not be completed (error code: {info})."


PROBLEMS = {"inv": singular_inverse, "ldl": singular_diagonal, "lu": singular_factor, "solve": singular_solve,
            "cholesky": not_positive}


def check_factorization(info: Any, api_name: str, is_matrix: bool) -> None:
    """Raise if a factorization failed; `info` is what LAPACK said, per matrix."""
    if info.is_meta:
        return
    problem = next((text for part, text in PROBLEMS.items() if part in api_name), other_problem)
    numbers = everything(info)
    check_info(numbers.reshape(()) if is_matrix and numbers.size == 1 else numbers, api_name, problem,
               RuntimeError if problem is singular_factor else LinAlgError)


linalg_check_errors = defop("_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
                            kernel=check_factorization, composite=True, variants="function", out=False)


def check_factorized(info: Any, name: str) -> None:
    """Raise if a factorization failed, by an op that dispatch modes see."""
    if is_seen():
        linalg_check_errors.prepare()
        hooks.dispatch_mode(linalg_check_errors, [info, name, info.ndim == 0])
    else:
        check_factorization(info, name, info.ndim == 0)


# ---- layouts
def column_major(array: Any) -> Any:
    """The array with each matrix stored by columns, as LAPACK leaves its results."""
    array = np.asarray(array)
    rows, columns = array.shape[-2:]
    if array.ndim == 2 and rows and array.strides == (array.itemsize, rows * array.itemsize):
        return array
    strides = [*storage.contiguous_strides(array.shape)[:-2], 1, max(rows, 1)]
    if storage.strides_of(array) == tuple(strides):
        return array
    made = storage.empty_strided(array.shape, strides, array.dtype)
    made[...] = array
    return made


def broadcast_batch(*arrays: Any, ranks: tuple[int, ...] | None = None) -> list[Any]:
    """The arrays with their leading dimensions broadcast against each other; the last two are left alone."""
    batch = lean.broadcast_shapes(*[a.shape[:-2] for a in arrays])
    return [lean.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]


# ---- the factors of LU
def check_unpack(LU: Any, pivots: Any) -> None:
    if LU.ndim < 2:
        raise RuntimeError("torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
                           f"{list(LU.shape)} instead")
    if pivots is not None and pivots.size and not 1 <= pivots.min() <= pivots.max() <= LU.shape[-2]:
        raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the "
                           "result of lu_factor?")


def check_pivots(LU: Any, pivots: Any) -> None:
    if LU.shape[-1] != pivots.shape[wrap_dim(-1, pivots.ndim, scalar_ok=False)]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError("linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots.shape)} instead")
    wrong = None
    if pivots.size and pivots.min() < 1:
        wrong = "greater or equal to 1"
    elif pivots.size and pivots.max() > LU.shape[-2]:
        wrong = "smaller or equal to LU.size(-2)"
    if wrong is not None:
        raise RuntimeError(f"Pivots given to lu_solve must all be {wrong}. Did you properly pass the result of lu_factor?")
