"""Matrix factorizations over arrays that NumPy lacks, and what kernels of linear algebra share: checks and layouts.

All functions work on stacks of matrices, along the last two dimensions. A matrix that cannot be factorized is no error
here: `info` says where the trouble began (1-based, 0 for none), and the numbers are what LAPACK would leave there.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import storage
from retrograd.core.dtypes import BY_NUMPY
from retrograd.ops.shared.families import wrap_dim

INT32 = np.dtype(np.int32)
BLOCK = 48        # columns that are eliminated one by one before the rest of the matrix is brought up to date


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
    if array.dtype.kind not in "fcV":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {legacy(array)}")
    if not low_precision and array.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {legacy(array)}")


def supported(kernel: str, array: Any, even_empty: bool = True) -> None:
    """LAPACK has routines for single and double precision only; some are not asked when there are no elements."""
    if array.dtype.char not in "fdFD" and (even_empty or array.size):
        raise NotImplementedError(f'"{kernel}" not implemented for \'{legacy(array)}\'')


def check_info(info: Any, name: str, problem: Any) -> None:
    """Raise for the first matrix of a stack that could not be factorized; `problem` makes the text from its info."""
    places = np.flatnonzero(info)
    if len(places):
        which = f"(Batch element {places[0]}): " if info.ndim else ""
        raise LinAlgError(f"{name}: {which}{problem(int(info.reshape(-1)[places[0]]))}")


def singular_inverse(info: int) -> str:
    return (f"The diagonal element {info} is zero, the inversion could not be completed because the input matrix is "
            "singular.")


def not_positive(info: int) -> str:
    return ("The factorization could not be completed because the input is not positive-definite (the leading minor of "
            f"order {info} is not positive-definite).")


def singular_solve(info: int) -> str:
    return "The solver failed because the input matrix is singular."


# ---- layouts
def column_major(array: Any) -> Any:
    """The array with each matrix stored by columns, as LAPACK leaves its results."""
    array = np.asarray(array)
    rows, columns = array.shape[-2:]
    strides = [*storage.contiguous_strides(array.shape)[:-2], 1, max(rows, 1)]
    if storage.strides_of(array) == tuple(strides):
        return array
    made = storage.empty_strided(array.shape, strides, array.dtype)
    made[...] = array
    return made


def adjoint(array: Any) -> Any:
    swapped = array.swapaxes(-1, -2)
    return swapped.conj() if array.dtype.kind == "c" else swapped


def broadcast_batch(*arrays: Any, ranks: tuple[int, ...] | None = None) -> list[Any]:
    """The arrays with their leading dimensions broadcast against each other; the last two are left alone."""
    batch = np.broadcast_shapes(*[a.shape[:-2] for a in arrays])
    return [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]


# ---- LU
def lu_factor(xp: Any, a: Any) -> tuple[Any, Any, Any]:
    """L and U in one array, the row exchanges (1-based) and info, by elimination with partial pivoting."""
    rows, columns = a.shape[-2:]
    steps = min(rows, columns)
    batch = a.shape[:-2]
    if not a.size:
        return a.copy(), xp.empty((*batch, steps), INT32), xp.zeros(batch, INT32)
    work = xp.array(a).reshape((math.prod(batch), rows, columns))
    pivots = xp.empty((len(work), steps), INT32)
    info = xp.zeros(len(work), INT32)
    every = xp.arange(len(work))
    with xp.errstate(all="ignore"):
        for start in range(0, steps, BLOCK):
            stop = min(start + BLOCK, steps)
            for k in range(start, stop):
                eliminate(xp, work, pivots, info, every, k, stop)
            if stop < columns:
                unit = work[:, start:stop, start:stop]
                work[:, start:stop, stop:] = solve_triangular(xp, unit, work[:, start:stop, stop:], False, True)
                work[:, stop:, stop:] -= work[:, stop:, start:stop] @ work[:, start:stop, stop:]
    return work.reshape(a.shape), pivots.reshape((*batch, steps)), info.reshape(batch)


def eliminate(xp: Any, work: Any, pivots: Any, info: Any, every: Any, k: int, stop: int) -> None:
    """One step: exchange rows, divide the column, bring the columns of this block up to date."""
    column = work[:, k:, k]
    size = xp.abs(column.real) + xp.abs(column.imag) if work.dtype.kind == "c" else xp.abs(column)
    chosen = xp.where(xp.isnan(size[:, 0]), 0, xp.argmax(xp.where(xp.isnan(size), -1, size), 1)) + k
    pivots[:, k] = chosen + 1
    if (chosen != k).any():
        upper = work[:, k].copy()
        work[:, k] = work[every, chosen]
        work[every, chosen] = upper
    pivot = work[:, k, k]
    zero = pivot == 0
    info[xp.logical_and(zero, info == 0)] = k + 1
    factors = xp.where(zero[:, None], work[:, k + 1:, k], work[:, k + 1:, k] / pivot[:, None])
    work[:, k + 1:, k] = factors
    work[:, k + 1:, k + 1:stop] -= factors[:, :, None] * work[:, k:k + 1, k + 1:stop]


def permutation_of(xp: Any, pivots: Any, rows: int) -> Any:
    """For each row of the factorized matrix, the row of the original that it was."""
    exchanges = pivots.reshape((math.prod(pivots.shape[:-1]), pivots.shape[-1]))
    order = xp.broadcast_to(xp.arange(rows), (len(exchanges), rows)).copy()
    every = xp.arange(len(order))
    for k in range(exchanges.shape[1]):
        other = exchanges[:, k] - 1
        kept = order[:, k].copy()
        order[:, k] = order[every, other]
        order[every, other] = kept
    return order.reshape((*pivots.shape[:-1], rows))


def permutation_matrix(xp: Any, order: Any, dtype: Any) -> Any:
    """P with A = P L U."""
    rows = order.shape[-1]
    return xp.eye(rows, dtype=dtype)[order].swapaxes(-1, -2).copy()


def parity_of(xp: Any, pivots: Any) -> Any:
    """1 or -1 for an even or odd number of row exchanges."""
    moved = (pivots != xp.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return xp.where(moved % 2 == 1, -1, 1)


def check_unpack(LU: Any, pivots: Any) -> None:
    if LU.ndim < 2:
        raise RuntimeError("torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
                           f"{list(LU.shape)} instead")
    if pivots is not None and pivots.size and not 1 <= pivots.min() <= pivots.max() <= LU.shape[-2]:
        raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the "
                           "result of lu_factor?")


def check_pivots(LU: Any, pivots: Any) -> None:
    if pivots.dtype != INT32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
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


def lu_solve(xp: Any, lu: Any, pivots: Any, b: Any, adjoint_system: bool = False) -> Any:
    """X with A X = B (or A^H X = B) from the factors of A; leading dimensions broadcast."""
    order = permutation_of(xp, pivots, lu.shape[-1])
    batch = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    order = xp.broadcast_to(order, (*batch, order.shape[-1]))
    b = xp.broadcast_to(b, (*batch, *b.shape[-2:]))
    if not adjoint_system:
        x = xp.take_along_axis(b, order[..., None], -2)
        return solve_triangular(xp, lu, solve_triangular(xp, lu, x, False, True), True, False)
    other = adjoint(lu)
    x = solve_triangular(xp, other, solve_triangular(xp, other, b, False, False), True, True)
    return xp.take_along_axis(x, xp.argsort(order, -1)[..., None], -2)


def solve_triangular(xp: Any, a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """X with A X = B, reading one triangle of A; leading dimensions broadcast."""
    n = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = xp.array(xp.broadcast_to(b, (*batch, *b.shape[-2:])))
    with xp.errstate(all="ignore"):
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            low, high = (n - stop, n - start) if upper else (start, stop)
            rows = range(high - 1, low - 1, -1) if upper else range(low, high)
            for k in rows:
                done = slice(k + 1, high) if upper else slice(low, k)
                if done.stop > done.start:
                    x[..., k, :] -= (a[..., k, None, done] @ x[..., done, :])[..., 0, :]
                if not unit:
                    x[..., k, :] /= a[..., k, k, None]
            rest = slice(0, low) if upper else slice(high, n)
            if rest.stop > rest.start:
                x[..., rest, :] -= a[..., rest, low:high] @ x[..., low:high, :]
    return x


# ---- Cholesky
def cholesky(xp: Any, a: Any, upper: bool) -> tuple[Any, Any]:
    """The factor that the given triangle of each matrix has, and info."""
    lower = adjoint(a) if upper else a
    try:
        made = xp.linalg.cholesky(lower)
        info = xp.zeros(a.shape[:-2], INT32)
        if xp.isnan(made).any():
            raise xp.linalg.LinAlgError
    except xp.linalg.LinAlgError:
        made, info = cholesky_by_columns(xp, lower)
    return (adjoint(made) if upper else made), info


def cholesky_by_columns(xp: Any, a: Any) -> tuple[Any, Any]:
    """Column by column; a matrix that turns out not to be positive-definite is left as it is from there on."""
    n = a.shape[-1]
    work = xp.tril(a).reshape((math.prod(a.shape[:-2]), n, n))
    info = xp.zeros(len(work), INT32)
    with xp.errstate(all="ignore"):
        for k in range(n):
            row = work[:, k, :k]
            pivot = work[:, k, k].real - (row * row.conj()).real.sum(-1)
            good = (pivot > 0) & (info == 0)
            info[~good & (info == 0)] = k + 1
            root = xp.sqrt(xp.where(good, pivot, 1))
            below = (work[:, k + 1:, k] - (work[:, k + 1:, :k] @ row.conj()[:, :, None])[..., 0]) / root[:, None]
            work[:, k + 1:, k] = xp.where(good[:, None], below, work[:, k + 1:, k])
            work[:, k, k] = xp.where(good, root, xp.where(info == k + 1, pivot, work[:, k, k]))
    return work.reshape(a.shape), info.reshape(a.shape[:-2])


# ---- reflections
def householder_product(xp: Any, vectors: Any, tau: Any) -> Any:
    """The first columns of the product of the reflections I - tau v v^H; v is 1 on the diagonal, 0 above it."""
    rows, columns = vectors.shape[-2:]
    result = xp.zeros(vectors.shape, vectors.dtype)
    diagonal = xp.arange(columns)
    result[..., diagonal, diagonal] = 1
    for k in range(tau.shape[-1] - 1, -1, -1):
        v = reflector(xp, vectors, k)
        result -= tau[..., k, None, None] * v * (adjoint(v) @ result)
    return result


def reflector(xp: Any, vectors: Any, k: int) -> Any:
    v = vectors[..., k:k + 1].copy()
    v[..., :k, :] = 0
    v[..., k, :] = 1
    return v


def reflect(xp: Any, vectors: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    """The product of the reflections (or its adjoint), applied to a matrix from the left or the right."""
    result = xp.array(other)
    count = tau.shape[-1]
    forwards = left == transpose
    for k in range(count) if forwards else range(count - 1, -1, -1):
        v = reflector(xp, vectors, k)
        factor = tau[..., k, None, None]
        factor = factor.conj() if transpose else factor
        if left:
            result = result - factor * v * (adjoint(v) @ result)
        else:
            result = result - factor * (result @ v) * adjoint(v)
    return result


# ---- the exponential
def matrix_exp(xp: Any, a: Any) -> Any:
    """By scaling and squaring of a Taylor polynomial."""
    n = a.shape[-1]
    if a.size == 0:
        return a.copy()
    flat = a.reshape((-1, n, n))
    size = xp.abs(flat).sum(-2).max(-1)
    size = xp.where(xp.isfinite(size), size, 0)
    squarings = xp.maximum(0, xp.ceil(xp.log2(xp.maximum(size, 1e-300) / 0.5))).astype(xp.int64)
    unit = xp.eye(n, dtype=a.dtype)
    scaled = flat * (0.5 ** squarings)[:, None, None].astype(a.real.dtype)
    degree = 18 if a.real.dtype.itemsize == 8 else 10
    result = xp.broadcast_to(unit, flat.shape)
    with xp.errstate(all="ignore"):
        for k in range(degree, 0, -1):
            result = unit + scaled @ result / a.real.dtype.type(k)
        for step in range(int(squarings.max(initial=0))):
            result = xp.where((squarings > step)[:, None, None], result @ result, result)
    return result.reshape(a.shape).astype(a.dtype, copy=False)
