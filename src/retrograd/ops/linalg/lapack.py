"""Factorizations and solvers of LAPACK over stacks of matrices, through the routines that SciPy carries.

All functions work along the last two dimensions. A matrix that cannot be factorized is not an error here: `info` is the
first failing position (1-based, 0 for success), and the values are what LAPACK leaves there.
"""
from __future__ import annotations

import ctypes
import math
import os
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native
from retrograd.core.threads import get_threads, set_threads, tell_algorithms
from retrograd.ops.shared.triangles import cleared, lower_part, upper_part

INT32 = np.dtype(np.int32)
LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}       # prefix of LAPACK's routines by NumPy's dtype character
BLOCK = 64                                               # LAPACK's block size, for workspace sizes


@cache
def libraries() -> tuple[Any, Any]:
    """SciPy's LAPACK and BLAS, loaded here with their number of threads set."""
    made = load_alone("cython_lapack"), load_alone("cython_blas")
    set_threads(get_threads())
    tell_algorithms()
    return made


def load_alone(name: str) -> Any:
    """A compiled module of `scipy.linalg` without the rest of that package, whose import takes ten times as long."""
    full = f"scipy.linalg.{name}"
    folder = os.path.join(os.path.dirname(import_module("scipy").__file__ or ""), "linalg")
    spec = None if "scipy.linalg" in sys.modules else PathFinder.find_spec(full, [folder])
    if spec is None or spec.loader is None:
        return import_module(full)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(full, None)         # importing the package later makes it an attribute there
    return module


@cache
def address_of(name: str) -> int:
    """The address of a routine such as dgetrf, whose operands are all pointers."""
    cython_lapack, cython_blas = libraries()
    library = cython_lapack if name in cython_lapack.__pyx_capi__ else cython_blas
    capsule = library.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = int(pointer_of(capsule, name_of(capsule)))
    return address if native is None else int(native.tiled_routine(name, address))


SMALL: dict[str, int] = {}                               # hand-written routines, with the maximum size of their matrices
MOST_SMALL = 16
if native is not None:
    native.find_routines(address_of)                     # for fully compiled kernels
    SMALL = native.small_routines()


def run(name: str, dtype: Any, count: int, *operands: Any, size: int = MOST_SMALL + 1) -> None:
    """Call a routine for each of `count` matrices, which have at most `size` rows and columns.

    An int or a letter is passed as is; an array advances along its first dimension, an array in a tuple does not.
    """
    full = LETTERS[dtype.char] + name
    routine = SMALL.get(full) if size <= MOST_SMALL else None
    if routine is None:
        routine = address_of(full)
    if native is not None:
        native.lapack(routine, count, *operands)
    else:
        run_from_python(routine, count, operands)


def run_from_python(routine: int, count: int, operands: Any) -> None:
    kept: list[Any] = []                                  # keeps the pointers' targets alive
    starts, steps = [], []
    for operand in operands:
        step = 0
        if isinstance(operand, (int, str)):
            kept.append(ctypes.c_int(operand) if isinstance(operand, int) else ctypes.c_char(operand.encode()))
            starts.append(ctypes.addressof(kept[-1]))
        elif isinstance(operand, tuple):
            starts.append(pointer_to(operand[0]))
        else:
            starts.append(pointer_to(operand))
            step = operand.strides[0] if count > 1 else 0
        steps.append(step)
    function = prototype(len(operands))(routine)
    if count:
        function(*starts)
    for k in range(1, count):
        function(*[start + k * step for start, step in zip(starts, steps, strict=True)])


def pointer_to(array: Any) -> int:
    """The address of an array's memory; `array.ctypes` takes three times as long."""
    if array.flags.writeable and array.flags.c_contiguous and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return int(array.ctypes.data)


@cache
def prototype(count: int) -> Any:
    """The type of routines with `count` operands."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)


# ---- layouts
def count_of(batch: Any) -> int:
    return math.prod(batch)


def by_columns(a: Any, batch: Any = None) -> Any:
    """A copy as one stack with each matrix stored by columns, for LAPACK to work in: (count, columns, rows)."""
    if native is not None and (batch is None or a.shape[:-2] == batch):
        made = native.stack_columns(a)
        if made is not None:
            return made
    batch = a.shape[:-2] if batch is None else batch
    rows, columns = a.shape[-2:]
    made = np.empty((*batch, columns, rows), a.dtype)
    if native is None or a.shape[:-2] != batch or native.transpose(a, made) is None:
        made[...] = a.swapaxes(-1, -2)
    return made.reshape((count_of(batch), columns, rows))


def matrices(work: Any, batch: Any) -> Any:
    """The stack of LAPACK's results as matrices."""
    if not batch and len(work) == 1:
        return work[0].T
    return work.reshape((*batch, *work.shape[1:])).swapaxes(-1, -2)


def operand(a: Any, batch: Any) -> Any:
    """The batch of matrices stored by columns, read-only: without a copy where possible."""
    stored = a.swapaxes(-1, -2)
    if a.ndim == 2 and not batch and stored.flags.c_contiguous:
        return stored[None]
    if count_of(a.shape[:-2]) == 1 and count_of(batch) != 1:
        return (np.ascontiguousarray(stored).reshape(stored.shape[-2:]),)
    if a.shape[:-2] != batch:
        stored = lean.broadcast_to(stored, (*batch, *stored.shape[-2:]))
    return np.ascontiguousarray(stored).reshape((count_of(batch), *stored.shape[-2:]))


def adjoint(array: Any) -> Any:
    swapped = array.swapaxes(-1, -2)
    return swapped.conj() if array.dtype.kind == "c" else swapped


def trans(dtype: Any) -> str:
    """LAPACK's TRANS letter for the adjoint of a matrix."""
    return "C" if dtype.kind == "c" else "T"


# ---- LDL
def ldl_factor(xp: Any, a: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """L and D in the lower triangle of one array, the exchanges (1-based, negative for blocks of two) and info."""
    n, batch = a.shape[-1], a.shape[:-2]
    work = by_columns(a)
    pivots, info = np.empty((len(work), n), INT32), np.zeros(len(work), INT32)
    if work.size:
        name = "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"
        space = (np.empty(n * BLOCK, a.dtype),)
        run(name, a.dtype, len(work), "L", n, work, n, pivots, space, n * BLOCK, info)
    return matrices(cleared(work, 0, False), batch), pivots.reshape((*batch, n)), info.reshape(batch)


def ldl_solve(xp: Any, factors: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """X with A X = B from the factors of A; leading dimensions broadcast."""
    batch = lean.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    n, columns = b.shape[-2:]
    work = by_columns(b, batch)
    if work.size:
        name = "hetrs" if hermitian and b.dtype.kind == "c" else "sytrs"
        run(name, b.dtype, len(work), "L", n, columns, operand(factors, batch), n, operand(pivots[..., None], batch), work, n,
            (np.zeros(1, INT32),))
    return matrices(work, batch)


# ---- LU
def lu_factor(xp: Any, a: Any) -> tuple[Any, Any, Any]:
    """L and U in one array, the row exchanges (1-based) and info, by elimination with partial pivoting."""
    rows, columns = a.shape[-2:]
    batch, steps = a.shape[:-2], min(rows, columns)
    if not a.size:
        return a.copy(), np.empty((*batch, steps), INT32), np.zeros(batch, INT32)
    work = by_columns(a)
    pivots, info = np.empty((len(work), steps), INT32), np.zeros(len(work), INT32)
    run("getrf", a.dtype, len(work), rows, columns, work, rows, pivots, info,
        size=max(rows, columns))
    return matrices(work, batch), pivots.reshape((*batch, steps)), info.reshape(batch)


def permutation_of(xp: Any, pivots: Any, rows: int) -> Any:
    """For each row of the factorized matrix, the row of the original that it was."""
    made = None if native is None else native.pivot_order(pivots, rows)
    if made is not None:
        return made
    count, steps = count_of(pivots.shape[:-1]), pivots.shape[-1]
    order = np.empty((count, rows))
    order[...] = np.arange(rows)
    if count and steps:
        exchanges = np.ascontiguousarray(pivots).reshape((count, steps))
        run("laswp", order.dtype, count, 1, order, rows, 1, steps, exchanges, 1)
    return order.astype(np.int64).reshape((*pivots.shape[:-1], rows))


def permutation_matrix(xp: Any, order: Any, dtype: Any) -> Any:
    """P with A = P L U."""
    rows = order.shape[-1]
    made = np.zeros((*order.shape, rows), dtype)
    if native is None or not native.put_ones(made, order):
        np.put_along_axis(made, order[..., None, :], 1, -2)
    return made


def determinant(xp: Any, lu: Any, pivots: Any, logarithm: bool) -> Any:
    """The determinants of factorized matrices, or their signs and logarithms; None for complex numbers."""
    if native is None or not lu.size:
        return None
    n, batch = lu.shape[-1], lu.shape[:-2]
    stored = lu.swapaxes(-1, -2)
    if not stored.flags.c_contiguous:
        return None
    made = native.lu_determinant(stored.reshape((-1, n, n)), pivots, logarithm)
    if made is None:
        return None
    return tuple([m.reshape(batch) for m in made]) if logarithm else made.reshape(batch)


def parity_of(xp: Any, pivots: Any) -> Any:
    """1 or -1 for an even or odd number of row exchanges."""
    moved = (pivots != np.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return np.where(moved % 2 == 1, -1, 1)


def lu_solve(xp: Any, lu: Any, pivots: Any, b: Any, adjoint_system: bool = False) -> Any:
    """X with A X = B (or A^H X = B) from the factors of A; leading dimensions broadcast."""
    batch = lean.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    n, columns = b.shape[-2:]
    work = by_columns(b, batch)
    if work.size:
        factors, exchanges = operand(lu, batch), operand(pivots[..., None], batch)
        run("getrs", b.dtype, len(work), trans(b.dtype) if adjoint_system else "N", n, columns, factors, n, exchanges, work, n,
            (np.zeros(1, INT32),), size=n)
    return matrices(work, batch)


def inverse(xp: Any, a: Any) -> tuple[Any, Any]:
    """The inverses, and info; where there is none, the factors are left."""
    n, batch = a.shape[-1], a.shape[:-2]
    work = by_columns(a)
    info, pivots = np.zeros(len(work), INT32), np.empty((len(work), n), INT32)
    if work.size:
        run("getrf", a.dtype, len(work), n, n, work, n, pivots, info, size=n)
        if native is not None and n > MOST_SMALL:
            made = native.invert(work, pivots, info, address_of(LETTERS[a.dtype.char] + "trsm"))
            if made is not None:
                return matrices(made, batch), info.reshape(batch)
        space = (np.empty(n * BLOCK, a.dtype),)
        run("getri", a.dtype, len(work), n, work, n, pivots, space, n * BLOCK, info, size=n)
    return matrices(work, batch), info.reshape(batch)


def solve_triangular(xp: Any, a: Any, b: Any, upper: bool, unit: bool, left: bool = True) -> Any:
    """X with A X = B or X A = B, reading one triangle of A; leading dimensions broadcast."""
    batch = lean.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows, columns = b.shape[-2:]
    n = a.shape[-1]
    work = by_columns(b, batch)
    if work.size:
        by_rows = n > 1 and a.strides[-1] == a.itemsize
        factor = operand(a.swapaxes(-1, -2) if by_rows else a, batch)
        run("trsm", b.dtype, len(work), "L" if left else "R", "U" if upper != by_rows else "L", "T" if by_rows else "N",
            "U" if unit else "N", rows, columns, (lean.ones(1, b.dtype),), factor, n, work, rows)
    return matrices(work, batch)


# ---- Cholesky
def cholesky(xp: Any, a: Any, upper: bool) -> tuple[Any, Any]:
    """The factor that the given triangle of each matrix has, and info."""
    n, batch = a.shape[-1], a.shape[:-2]
    work = by_columns(a)
    info = np.zeros(len(work), INT32)
    run("potrf", a.dtype, len(work), "U" if upper else "L", n, work, n, info, size=n)
    last = work.item(-1) if len(work) == 1 else np.add.reduce(work[:, -1, -1])        # NaN if any pivot is NaN
    wrong = np.isnan(work.reshape((len(work), n * n))[:, ::n + 1].real) if last != last else None
    if wrong is not None and wrong.any():         # a NaN pivot is not positive, which not every LAPACK reports
        info = np.where((info == 0) & wrong.any(1), wrong.argmax(1) + 1, info).astype(INT32)
    return matrices(cleared(work, 0, upper), batch), info.reshape(batch)


def cholesky_solve(xp: Any, factor: Any, b: Any, upper: bool) -> Any:
    """X with A X = B from a factor of A; leading dimensions broadcast."""
    batch = lean.broadcast_shapes(factor.shape[:-2], b.shape[:-2])
    n, columns = b.shape[-2:]
    work = by_columns(b, batch)
    if work.size:
        run("potrs", b.dtype, len(work), "U" if upper else "L", n, columns, operand(factor, batch), n, work, n,
            (np.zeros(1, INT32),))
    return matrices(work, batch)


def cholesky_inverse(xp: Any, factor: Any, upper: bool) -> tuple[Any, Any]:
    """The inverse of A from a factor of A, and info."""
    n, batch = factor.shape[-1], factor.shape[:-2]
    work = by_columns(factor)
    info = np.zeros(len(work), INT32)
    if work.size:
        run("potri", factor.dtype, len(work), "U" if upper else "L", n, work, n, info)
        half = lower_part(work, -1) if upper else upper_part(work, 1)       # `work` is transposed
        whole = half + adjoint(half)
        diagonal = np.arange(n)
        whole[:, diagonal, diagonal] = work[:, diagonal, diagonal]
        work = whole
    return matrices(work, batch), info.reshape(batch)


# ---- reflections
def geqrf(xp: Any, a: Any) -> tuple[Any, Any]:
    """R with the reflections of Q below it, and their scales."""
    rows, columns = a.shape[-2:]
    work = by_columns(a)
    tau = np.empty((len(work), min(rows, columns)), a.dtype)
    if work.size:
        size = columns * BLOCK
        run("geqrf", a.dtype, len(work), rows, columns, work, rows, tau, (np.empty(size, a.dtype),), size,
            (np.zeros(1, INT32),), size=max(rows, columns))
    return matrices(work, a.shape[:-2]), tau.reshape((*a.shape[:-2], tau.shape[-1]))


def qr(xp: Any, a: Any, mode: str) -> tuple[Any, Any]:
    """Q and R with A = Q R, for matrices with elements; Q is None in mode `r`."""
    rows, columns = a.shape[-2:]
    batch, small = a.shape[:-2], min(rows, columns)
    work = by_columns(a)
    count = len(work)
    tau, info = np.empty((count, small), a.dtype), (np.zeros(1, INT32),)
    size = max(rows, columns) * BLOCK
    space = (np.empty(size, a.dtype),)
    run("geqrf", a.dtype, count, rows, columns, work, rows, tau, space, size, info, size=max(rows, columns))
    wide = rows if mode == "complete" else small
    upper = work[:, :, :wide].copy()
    R = matrices(cleared(upper, 0, True), batch)
    if mode == "r":
        return None, R
    if wide == columns:
        vectors = work
    else:
        vectors = np.empty((count, wide, rows), a.dtype)
        vectors[:, :small] = work[:, :small]
    run("ungqr" if a.dtype.kind == "c" else "orgqr", a.dtype, count, rows, wide, small, vectors, rows, tau, space, size, info,
        size=max(rows, wide))
    return matrices(vectors, batch), R


def householder_product(xp: Any, vectors: Any, tau: Any) -> Any:
    """The first columns of the product of the reflections I - tau v v^H; v is 1 on the diagonal, 0 above it."""
    rows, columns = vectors.shape[-2:]
    work = by_columns(vectors)
    if work.size:
        scales = np.ascontiguousarray(tau).reshape((len(work), tau.shape[-1]))
        run("ungqr" if tau.dtype.kind == "c" else "orgqr", tau.dtype, len(work), rows, columns, tau.shape[-1], work, rows,
            scales, (np.empty(columns * BLOCK, tau.dtype),), columns * BLOCK, (np.zeros(1, INT32),), size=max(rows, columns))
    return matrices(work, vectors.shape[:-2])


def reflect(xp: Any, vectors: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    """The product of the reflections (or its adjoint), applied to a matrix from the left or the right."""
    rows, columns = other.shape[-2:]
    batch, count = other.shape[:-2], tau.shape[-1]
    work = by_columns(other)
    if work.size and count:
        size = max(rows, columns) * BLOCK + BLOCK * (BLOCK + 1)
        scales = np.ascontiguousarray(tau).reshape((len(work), count))
        run("unmqr" if tau.dtype.kind == "c" else "ormqr", tau.dtype, len(work), "L" if left else "R",
            trans(tau.dtype) if transpose else "N", rows, columns, count, operand(vectors, batch), vectors.shape[-2], scales,
            work, rows, (np.empty(size, tau.dtype),), size, (np.zeros(1, INT32),))
    return matrices(work, batch)


# ---- eigenvalues and singular values
@cache
def wanted_space(name: str, dtype: Any, *sizes: Any) -> tuple[int, int, int]:
    """The workspace sizes (own type, real, integer) of a routine, queried by passing -1."""
    own, real, whole = np.empty(1, dtype), np.empty(1, dtype.type(0).real.dtype), np.empty(1, INT32)
    nothing, info = (np.empty(1, dtype),), (np.zeros(1, INT32),)
    if name == "gesdd":
        job, rows, columns = sizes
        most, small = max(rows, columns), min(rows, columns)
        extra: Any = ((real,),) if dtype.kind == "c" else ()
        run(name, dtype, 1, job, rows, columns, nothing, rows, nothing, nothing, rows, nothing, max(1, columns), (own,), -1,
            *extra, (whole,), info)
        return int(own[0].real), small * max(5 * small + 7, 2 * most + 2 * small + 1), 8 * small
    job, n = sizes
    extra = ((real,), -1) if dtype.kind == "c" else ()
    run(name, dtype, 1, job, "L", n, nothing, n, nothing, (own,), -1, *extra, (whole,), -1, info)
    return int(own[0].real), int(real[0]) if extra else 0, int(whole[0])


def svd(xp: Any, a: Any, full: bool, vectors: bool) -> tuple[Any, Any, Any, Any]:
    """U, S, V^H and info, for matrices with elements; U and V^H are None if they are not wanted."""
    rows, columns = a.shape[-2:]
    batch, small = a.shape[:-2], min(rows, columns)
    work = by_columns(a)
    count, job = len(work), "N" if not vectors else "A" if full else "S"
    left, right = (rows, columns) if full else (small, small)
    own, real, whole = wanted_space("gesdd", a.dtype, job, rows, columns)
    values, info = np.empty((count, small), a.real.dtype), np.zeros(count, INT32)
    U = np.empty((count, left, rows), a.dtype) if vectors else (np.empty(1, a.dtype),)
    Vh = np.empty((count, columns, right), a.dtype) if vectors else (np.empty(1, a.dtype),)
    extra = ((np.empty(real, values.dtype),),) if a.dtype.kind == "c" else ()
    run("gesdd", a.dtype, count, job, rows, columns, work, rows, values, U, rows, Vh, max(1, right if vectors else 1),
        (np.empty(own, a.dtype),), own, *extra, (np.empty(whole, INT32),), info)
    S = values.reshape((*batch, small))
    return (matrices(U, batch), S, matrices(Vh, batch), info) if vectors else (None, S, None, info)


def eigh(xp: Any, a: Any, lower: bool, vectors: bool) -> tuple[Any, Any, Any]:
    """Eigenvalues and vectors of Hermitian matrices with elements, of which one triangle is read, and info."""
    n, batch = a.shape[-1], a.shape[:-2]
    work = by_columns(a)
    count, name = len(work), "heevd" if a.dtype.kind == "c" else "syevd"
    job = "V" if vectors else "N"
    own, real, whole = wanted_space(name, a.dtype, job, n)
    values, info = np.empty((count, n), a.real.dtype), np.zeros(count, INT32)
    extra = ((np.empty(real, values.dtype),), real) if a.dtype.kind == "c" else ()
    run(name, a.dtype, count, job, "L" if lower else "U", n, work, n, values, (np.empty(own, a.dtype),), own, *extra,
        (np.empty(whole, INT32),), whole, info)
    return values.reshape((*batch, n)), matrices(work, batch) if vectors else None, info


# ---- least squares
def least_squares(xp: Any, a: Any, b: Any, driver: str, rcond: float) -> tuple[Any, Any, Any]:
    """Solutions in the first rows of a larger matrix, ranks and singular values, by one of LAPACK's four drivers."""
    rows, columns = a.shape[-2:]
    batch = lean.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    width, high, small = b.shape[-1], max(rows, columns, 1), min(rows, columns)
    count = count_of(batch)
    right = np.zeros((*batch, width, high), a.dtype)
    right[..., :rows] = b.swapaxes(-1, -2)
    work, right = by_columns(a, batch), right.reshape((count, width, high))
    rank, values = np.zeros(count, INT32), np.zeros((count, small), a.real.dtype)
    if not (count and rows and columns):
        return matrices(right, batch), rank.reshape(batch), values.reshape((*batch, small))
    bound = lean.full(1, rcond, values.dtype)
    shape = (rows, columns, width, work, rows, right, high)
    own: tuple[Any, ...] = {"gels": (), "gelsy": (np.zeros((count, columns), INT32), (bound,), rank)}.get(
        driver, (values, (bound,), rank))
    head = ("N", *shape) if driver == "gels" else (*shape, *own)
    real = (np.empty(1, values.dtype),) if a.dtype.kind == "c" and driver != "gels" else ()
    whole = (np.empty(1, INT32),) if driver == "gelsd" else ()
    # workspace query: size -1
    space, info = np.empty(1, a.dtype), np.zeros(1, INT32)
    run(driver, a.dtype, 1, *head, (space,), -1, *[(x,) for x in (*real, *whole)], (info,))
    size = max(1, int(space[0].real))
    wanted = int(real[0][0]) if driver == "gelsd" and real else max(2 * columns, 5 * small)
    spaces = [np.empty(size, a.dtype), *[np.empty(max(1, wanted), x.dtype) for x in real],
              *[np.empty(max(1, int(x[0])), INT32) for x in whole]]
    run(driver, a.dtype, count, *head, (spaces[0],), size, *[(x,) for x in spaces[1:]], (info,))
    return matrices(right, batch), rank.reshape(batch), values.reshape((*batch, small))


# ---- the exponential
# The degree of the Taylor polynomial and the 1-norm up to which its error is below the unit of rounding.
DEGREES = {4: ((4, 5.1e-2), (8, 5.8e-1), (12, 1.46), (16, 2.4)), 8: ((8, 4.99e-2), (12, 2.99e-1), (16, 7.8e-1))}


def matrix_exp(xp: Any, a: Any) -> Any:
    """By scaling and squaring of a Taylor polynomial, which takes few products by Paterson and Stockmeyer's scheme."""
    n = a.shape[-1]
    if a.size == 0:
        return a.copy()
    real = a.real.dtype
    flat = a.reshape((-1, n, n))
    size = np.abs(flat).sum(-2).max(-1)
    size = np.where(np.isfinite(size), size, 0)
    choices = DEGREES[8 if real.itemsize == 8 else 4]
    degree, limit = next((c for c in choices if size.max() <= c[1]), choices[-1])
    squarings = np.maximum(0, np.ceil(np.log2(np.maximum(size, 1e-300) / limit))).astype(np.int64)
    most = int(squarings.max(initial=0))
    if most:
        flat = flat * (0.5 ** squarings)[:, None, None].astype(real)
    result = taylor(flat, degree, real)
    for step in range(most):
        squared = result @ result
        result = squared if (squarings > step).all() else np.where((squarings > step)[:, None, None], squared, result)
    return result.reshape(a.shape).astype(a.dtype, copy=False)


def taylor(x: Any, degree: int, real: Any) -> Any:
    """The sum of x^k / k! to a degree that is a multiple of four: three powers, then Horner's scheme in the fourth."""
    second = x @ x
    third, fourth = second @ x, second @ second
    diagonal = np.arange(x.shape[-1])

    def part(k: int) -> Any:
        made = x * real.type(1 / math.factorial(k + 1)) + second * real.type(1 / math.factorial(k + 2))
        made += third * real.type(1 / math.factorial(k + 3))
        made[:, diagonal, diagonal] += real.type(1 / math.factorial(k))
        return made

    result = part(degree - 4) + fourth * real.type(1 / math.factorial(degree))
    for k in range(degree - 8, -1, -4):
        result = part(k) + fourth @ result
    return result
