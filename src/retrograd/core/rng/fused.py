"""Fused multiply-add over arrays: round(a * b + c) with one rounding, as the processor's FMA instruction does."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import NDArray

_SPLITTER = 134217729.0  # 2**27 + 1 cuts a 53-bit significand into two halves whose products are exact
_BELOW_FLOAT32 = np.uint64(0x1FFFFFFF)  # the bits of a float64 significand that float32 cannot hold
_HALFWAY_FLOAT32 = np.uint64(0x10000000)


def fma_float32(a: NDArray[np.float32], b: float, c: float) -> NDArray[np.float32]:
    """round(a * b + c) for float32 `a` and scalars that float32 represents."""
    product = a.astype(np.float64)  # 24 by 24 bits fit in 53: the product is exact
    product *= b
    return sum_float32(product, c)


def sum_float32(product: NDArray[np.float64], c: Any) -> NDArray[np.float32]:
    """round(product + c) for an exact product and numbers `c` that float32 represents."""
    total = product + c
    result: NDArray[np.float32] = total.astype(np.float32)
    # Rounding twice goes wrong only if the first rounding lands halfway between two float32 values.
    halfway = (total.view(np.uint64) & _BELOW_FLOAT32) == _HALFWAY_FLOAT32
    if halfway.any():
        p, s = product[halfway], total[halfway]
        result[halfway] = _to_odd(s, _sum_error(p, c if isinstance(c, float) else c[halfway], s)).astype(np.float32)
    return result


def fma_float64(a: NDArray[np.float64], b: float, c: float) -> NDArray[np.float64]:
    """round(a * b + c) for float64 `a`, without overflow in a * 2**27 (Boldo and Melquiond's algorithm)."""
    if c == 0.0:
        return a * b + c
    if b == 1.0:
        return a + c
    high = a * b
    low = _product_error(a, b, high)
    addend = low + c
    addend_error = _sum_error(low, c, addend)
    total = high + addend
    total_error = _sum_error(high, addend, total)
    rest = addend_error + total_error
    return total + _to_odd(rest, _sum_error(addend_error, total_error, rest))


def _product_error(a: NDArray[np.float64], b: float, product: NDArray[np.float64]) -> NDArray[np.float64]:
    """a * b - product, exactly (Dekker)."""
    scaled = a * _SPLITTER
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    b_scaled = b * _SPLITTER
    b_high = b_scaled - (b_scaled - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _sum_error(
    a: NDArray[np.float64], b: NDArray[np.float64] | float, total: NDArray[np.float64]
) -> NDArray[np.float64]:
    """a + b - total, exactly (Knuth)."""
    b_seen = total - a
    return (a - (total - b_seen)) + (b - b_seen)


def _to_odd(value: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round value + error to odd instead of to even, so that a later rounding still sees the lost bits."""
    even = (value.view(np.uint64) & np.uint64(1)) == 0
    moved = np.nextafter(value, np.copysign(np.inf, error))
    return np.where(even & (error != 0.0), moved, value)
