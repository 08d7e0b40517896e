"""Continuous random arrays: uniform, normal, log-normal, exponential and Cauchy."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from retrograd.core.algorithms import native
from retrograd.core.rng.boxmuller import BLOCK, normal_blocks_float32, normal_blocks_float64
from retrograd.core.rng.fused import fma_float32, fma_float64
from retrograd.core.rng.libm import exact_exp, exact_log1p, exact_tan
from retrograd.core.rng.mersenne import Generator
from retrograd.core.rng.unit import unit_float32, unit_float64
from retrograd.core.state import thread_state

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import DTypeLike, NDArray

    Array = NDArray[Any]

Shape = int | tuple[int, ...]

FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_REAL_PART: dict[np.dtype[Any], np.dtype[Any]] = {np.dtype(np.complex64): FLOAT32, np.dtype(np.complex128): FLOAT64}


def element_count(shape: Shape) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)


def narrow(values: NDArray[np.float64], dtype: np.dtype[Any]) -> Array:
    """Cast from float64 the way the kernels do: 16-bit types round through float32, integers truncate."""
    if dtype == FLOAT64:
        return values
    thread_state()            # a thread that looks at its switches ignores NumPy's floating-point errors
    if dtype == FLOAT16 or dtype == BFLOAT16:
        return values.astype(np.float32).astype(dtype)
    return values.astype(dtype)


def uniform(
    gen: Generator, shape: Shape, low: float = 0.0, high: float = 1.0, npdtype: DTypeLike = np.float32
) -> Array:
    """Values in [low, high): `rand` and `uniform_`. Complex types get independent parts in [low, high)."""
    dtype = np.dtype(npdtype)
    if dtype in _REAL_PART:
        return uniform(gen, 2 * element_count(shape), low, high, _REAL_PART[dtype]).view(dtype).reshape(shape)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    n = element_count(shape)
    result: Array
    if dtype == FLOAT64:
        result = unit_float64(gen, n)
        if low != 0.0 or high != 1.0:
            # splitting a factor into halves overflows near the largest number
            scale = 2.0 ** -100 if max(abs(low), abs(high)) > 2.0 ** 900 else 1.0
            result = fma_float64(result, high * scale - low * scale, low * scale) / scale
    else:
        result = unit_float32(gen, n)
        if low != 0.0 or high != 1.0:
            low32, high32 = np.float32(low), np.float32(high)
            result = fma_float32(result, float(high32 - low32), float(low32))
        elif dtype == FLOAT32:
            return result.reshape(shape)  # the draws have 24 bits: no rounding can reach 1
        result = result.astype(dtype, copy=False)
    # Rounding may reach the excluded end; the kernel then returns the other one.
    at_end = result == np.asarray(high, dtype)
    if at_end.any():
        result[at_end] = low
    return result.reshape(shape)


def normal(
    gen: Generator,
    shape: Shape,
    mean: float = 0.0,
    std: float = 1.0,
    npdtype: DTypeLike = np.float32,
    contiguous: bool = True,
) -> Array:
    """Normal values: `randn` and `normal_`. Complex types get independent parts that share the variance.

    Below 16 elements, and for tensors that are not contiguous, values are drawn one by one in pairs whose second half
    waits in the generator; otherwise in blocks of 16, the last of which overlaps the one before it.
    """
    dtype = np.dtype(npdtype)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if dtype in _REAL_PART:
        part = normal(gen, 2 * element_count(shape), mean, std / math.sqrt(2), _REAL_PART[dtype], contiguous)
        return part.view(dtype).reshape(shape)
    n = element_count(shape)
    if n < BLOCK or not contiguous:
        return narrow(_affine(_normal_pairs(gen, n), mean, std, dtype), dtype).reshape(shape)
    if native is not None and (dtype == FLOAT64 or dtype == FLOAT32):
        made = np.empty(shape, dtype)
        native.random_normal(gen.memory(), made, std, mean)
        return made
    if dtype == FLOAT64:
        values = unit_float64(gen, n + (BLOCK if n % BLOCK else 0))
        return fma_float64(_normal_blocks(values, n), std, mean).reshape(shape)
    # float32 draws the overlapped values too, before the last block draws afresh; the 16-bit types skip them.
    draws = n + BLOCK if dtype == FLOAT32 else n // BLOCK * BLOCK + BLOCK
    result = _normal_blocks(unit_float32(gen, draws if n % BLOCK else n), n)
    if std != 1.0 or mean != 0.0:
        result = fma_float32(result, float(np.float32(std)), float(np.float32(mean)))
    else:
        # The kernel always adds the mean, which turns -0 into 0; for a ragged draw this also allocates the right length.
        result = np.add(result, np.float32(0.0), out=result if result.base is None else None)
    return result.astype(dtype, copy=False).reshape(shape)


def _normal_blocks(values: Array, n: int) -> Array:
    """Transform uniform draws in place; the last 16 of a ragged draw replace the end of the first n."""
    transform = normal_blocks_float64 if values.dtype == FLOAT64 else normal_blocks_float32
    whole = n // BLOCK * BLOCK
    if n == whole:
        transform(values)
        return values
    # The fresh draws come last; move them next to the whole blocks, so that one pass transforms both.
    values[whole : whole + BLOCK] = values[-BLOCK:].copy()
    transform(values[: whole + BLOCK])
    values[n - BLOCK : n] = values[whole : whole + BLOCK].copy()
    return values[:n]


def _normal_pairs(gen: Generator, n: int) -> NDArray[np.float64]:
    """Standard normal values drawn one at a time; the second of each pair may stay behind for the next call."""
    start = 0
    values: list[float] = []
    if n and gen.next_normal is not None:
        values.append(gen.next_normal)
        gen.next_normal = None
        start = 1
    pairs = (n - start + 1) // 2
    if pairs == 0:
        return np.array(values)
    draws = unit_float64(gen, 2 * pairs)
    if pairs <= BLOCK:
        it = iter(draws.tolist())
        for turn, chance in zip(it, it, strict=True):
            radius, angle = math.sqrt(-2.0 * math.log1p(-chance)), 2.0 * math.pi * turn
            values += (radius * math.cos(angle), radius * math.sin(angle))
        last = values[-1]
        result = np.array(values[:n])
    else:
        result = np.empty(n, np.float64)
        result[:start] = values
        radii = np.sqrt(-2.0 * exact_log1p(-draws[1::2]))
        angles = (2.0 * math.pi) * draws[0::2]
        cosines, sines = radii * np.cos(angles), radii * np.sin(angles)
        result[start::2] = cosines
        result[start + 1 :: 2] = sines[: (n - start) // 2]
        last = float(sines[-1])
    if (n - start) % 2:
        gen.next_normal = last
    return result


def _affine(values: NDArray[np.float64], mean: float, std: float, dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """values * std + mean, fused where the result keeps all its bits."""
    if std == 1.0 and mean == 0.0:
        return values
    return fma_float64(values, std, mean) if dtype == FLOAT64 else values * std + mean


def log_normal(
    gen: Generator, shape: Shape, mean: float = 1.0, std: float = 2.0, npdtype: DTypeLike = np.float32
) -> Array:
    """Exponentials of normal values: `log_normal_`."""
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    dtype = np.dtype(npdtype)
    values = _affine(_normal_pairs(gen, element_count(shape)), mean, std, dtype)
    # Narrow types hide the last bit, where NumPy's vectorised functions may differ from the C library's.
    values = exact_exp(values) if dtype == FLOAT64 else np.exp(values)
    return narrow(values, dtype).reshape(shape)


def exponential(gen: Generator, shape: Shape, lambd: float = 1.0, npdtype: DTypeLike = np.float32) -> Array:
    """Exponential values with rate `lambd`: `exponential_`."""
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    dtype = np.dtype(npdtype)
    if native is not None and (dtype == FLOAT64 or dtype == FLOAT32):
        made = np.empty(shape, dtype)
        native.random_exponential(gen.memory(), made, -1.0 / lambd)
        return made
    values = -unit_float64(gen, element_count(shape))
    values = exact_log1p(values) if dtype == FLOAT64 else np.log1p(values, out=values)
    values *= -1.0 / lambd
    return narrow(values, dtype).reshape(shape)


def cauchy(
    gen: Generator, shape: Shape, median: float = 0.0, sigma: float = 1.0, npdtype: DTypeLike = np.float32
) -> Array:
    """Cauchy values: `cauchy_`."""
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    dtype = np.dtype(npdtype)
    angles = unit_float64(gen, element_count(shape))
    angles -= 0.5
    angles *= math.pi
    values = exact_tan(angles) if dtype == FLOAT64 else np.tan(angles, out=angles)
    return narrow(_affine(values, median, sigma, dtype), dtype).reshape(shape)
