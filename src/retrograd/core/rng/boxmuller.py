"""Standard normal values from uniform ones, in blocks of 16: element j of a block pairs with element j + 8."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from retrograd.core.rng.libm import exact_log

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]
    Float64 = NDArray[np.float64]

BLOCK = 16
_HALF_BLOCK = 8
_ROWS_AT_A_TIME = 2048  # 16384 pairs: the scratch arrays stay in the second-level cache


# Cephes' single-precision polynomials. The float32 path must use them, because its last bit shows which
# approximation of log, sin and cos was taken, and where a product and a sum were fused into one rounding.
_LOG_POLYNOMIAL = tuple(
    float(np.float32(c))
    for c in (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )
)  # fmt: skip
_LN2_HIGH = float(np.float32(0.693359375))
_LN2_LOW = np.float32(-2.12194440e-4)
_SQRT_HALF = np.float32(0.707106781186547524)
_MANTISSA_BITS = np.int32(0x007FFFFF)
_ONE_HALF_BITS = np.int32(0x3F000000)
# Row 0 is the cosine, row 1 the sine: both polynomials have degree 2 in x**2 and run side by side.
_TRIGONOMETRIC = tuple(
    np.array(pair, np.float32).astype(np.float64).reshape(2, 1, 1)
    for pair in (
        (2.443315711809948e-5, -1.9515295891e-4),
        (-1.388731625493765e-3, 8.3321608736e-3),
        (4.166664568298827e-2, -1.6666654611e-1),
    )
)
_QUARTER_PI_PARTS = tuple(float(np.float32(c)) for c in (-0.78515625, -2.4187564849853516e-4, -3.77489497744594108e-8))
_FOUR_OVER_PI = np.float32(1.27323954473516)
_TWO_PI_32 = np.float32(2 * math.pi)
_ONE = np.float32(1)
_MINUS_TWO = np.float32(-2)


def normal_blocks_float32(uniform: Float32) -> None:
    """Replace uniform values, a multiple of 16 of them, by standard normal ones in place."""
    rows = uniform.reshape(-1, BLOCK)
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        chunk = rows[start : start + _ROWS_AT_A_TIME]
        radius = _log_float32(_ONE - chunk[:, :_HALF_BLOCK])
        radius *= _MINUS_TWO
        np.sqrt(radius, out=radius)
        cosine, sine = _cos_sin_float32(chunk[:, _HALF_BLOCK:] * _TWO_PI_32)
        np.multiply(radius, cosine, out=chunk[:, :_HALF_BLOCK])
        np.multiply(radius, sine, out=chunk[:, _HALF_BLOCK:])


def normal_blocks_float64(uniform: Float64) -> None:
    """Replace uniform values, a multiple of 16 of them, by standard normal ones in place."""
    rows = uniform.reshape(-1, BLOCK)
    radius = exact_log(1.0 - rows[:, :_HALF_BLOCK])
    radius *= -2.0
    np.sqrt(radius, out=radius)
    angle = rows[:, _HALF_BLOCK:] * (2 * math.pi)
    np.multiply(radius, np.cos(angle), out=rows[:, :_HALF_BLOCK])
    np.multiply(radius, np.sin(angle), out=rows[:, _HALF_BLOCK:])


def _fuse(a: Float64 | Float32, b: Float64, c: Float64 | Float32 | float, wide: Float64, out: Float32) -> None:
    """out = round(a * b + c) with float32 values: the float64 product of two of them is exact."""
    np.multiply(a, b, out=wide)
    np.add(wide, c, out=out, casting="same_kind")


def _log_float32(x: Float32) -> Float32:
    """Natural logarithm of values in (0, 1]."""
    bits = x.view(np.int32)
    exponent = (bits >> 23) - np.int32(126)
    bits &= _MANTISSA_BITS
    bits |= _ONE_HALF_BITS  # now x lies in [0.5, 1)
    small = x < _SQRT_HALF
    exponent -= small
    scale = exponent.astype(np.float32)
    np.multiply(x, 2, out=x, where=small)
    x -= _ONE  # exact, and now x lies in [sqrt(0.5) - 1, sqrt(2) - 1)
    wide_x = x.astype(np.float64)
    square = x * x
    wide = np.empty_like(wide_x)
    y = np.empty_like(x)
    np.multiply(wide_x, _LOG_POLYNOMIAL[0], out=wide)
    np.add(wide, _LOG_POLYNOMIAL[1], out=y, casting="same_kind")
    for coefficient in _LOG_POLYNOMIAL[2:]:
        _fuse(y, wide_x, coefficient, wide, y)
    y *= x
    wide_square = square.astype(np.float64)
    _fuse(y, wide_square, scale * _LN2_LOW, wide, y)
    wide_square *= -0.5
    np.add(wide_square, y, out=y, casting="same_kind")
    x += y
    np.multiply(scale, _LN2_HIGH, out=wide)
    np.add(wide, x, out=x, casting="same_kind")
    return x


def _cos_sin_float32(x: Float32) -> Float32:
    """Cosine (row 0) and sine (row 1) of angles in [0, 2 pi]."""
    octant = (x * _FOUR_OVER_PI).astype(np.int32)
    octant += np.int32(1)
    octant &= np.int32(-2)
    wide_octant = octant.astype(np.float64)
    wide = np.empty_like(wide_octant)
    for part in _QUARTER_PI_PARTS:
        np.multiply(wide_octant, part, out=wide)
        np.add(wide, x, out=x, casting="same_kind")
    square = x * x
    wide_square = square.astype(np.float64)
    wide_pair = wide_square * _TRIGONOMETRIC[0]
    pair = np.empty(wide_pair.shape, np.float32)
    np.add(wide_pair, _TRIGONOMETRIC[1], out=pair, casting="same_kind")
    _fuse(pair, wide_square, _TRIGONOMETRIC[2], wide_pair, pair)
    pair *= square
    cosine, sine = pair
    np.multiply(cosine, wide_square, out=wide)
    wide_square *= -0.5
    np.add(wide, wide_square, out=cosine, casting="same_kind")
    cosine += _ONE
    np.multiply(sine, x, out=wide, dtype=np.float64)
    np.add(wide, x, out=sine, casting="same_kind")
    # In octants 2-3 and 6-7 sine and cosine trade places; then each takes the sign of its quadrant.
    swapped = (octant & np.int32(2)) != 0
    result = np.where(swapped, pair[::-1], pair)
    signs = result.view(np.int32)
    signs[0] ^= ((octant + np.int32(2)) & np.int32(4)) << 29
    signs[1] ^= (octant & np.int32(4)) << 29
    return result
