"""Discrete random arrays drawn elementwise: zeros and ones, bounded and unbounded integers, geometric counts."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.core.algorithms import native
from retrograd.core.rng.continuous import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Shape, element_count, narrow
from retrograd.core.rng.mersenne import Generator
from retrograd.core.rng.unit import FEW, unit_float32, unit_float64, unit_int53

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import DTypeLike, NDArray

    from retrograd.core.rng.continuous import Array

# Integers up to these are exact in the type; `random_` without bounds draws from [0, limit].
_INTEGER_LIMIT = {FLOAT16: 2**11, BFLOAT16: 2**8, FLOAT32: 2**24, FLOAT64: 2**53}
_WIDE_RANGE = 2**28  # from here on the remainder of a 32-bit word would be visibly biased


def geometric(gen: Generator, shape: Shape, p: float, npdtype: DTypeLike = np.float32) -> Array:
    """The number of trials up to the first success: `geometric_`."""
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    values = unit_float64(gen, element_count(shape))
    np.log(values, out=values)
    values /= math.log1p(-p)
    return narrow(np.ceil(values, out=values), np.dtype(npdtype)).reshape(shape)


def bernoulli(gen: Generator, shape: Shape, p: float | Array, npdtype: DTypeLike = np.float32) -> Array:
    """Zeros and ones, with probability `p` of one: `bernoulli_`, `bernoulli`.

    A scalar `p` or a float64 array costs two words an element, any other array one.
    """
    dtype, n = np.dtype(npdtype), element_count(shape)
    if not isinstance(p, np.ndarray):
        if not 0.0 <= p <= 1.0:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        # Comparing before the exact scaling by 2**-53 saves a conversion.
        if native is not None and n > FEW:
            made = np.empty(shape, dtype)
            if native.random_below(gen.memory(), made, math.ceil(p * 2.0**53)) is not None:
                return made
        return (unit_int53(gen, n) < np.uint64(math.ceil(p * 2.0**53))).astype(dtype).reshape(shape)
    if not bool(((p >= 0) & (p <= 1)).all()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    draws = unit_float64(gen, n) if p.dtype == FLOAT64 else unit_float32(gen, n)
    if p.dtype == FLOAT16 or p.dtype == BFLOAT16:
        p = p.astype(np.float32)
    return (draws.reshape(shape) < p).astype(dtype)


def dropout_mask(gen: Generator, shape: Shape, p: float, npdtype: DTypeLike = np.float32) -> Array:
    """Ones for the elements that dropout with probability `p` keeps, zeros for the others."""
    return bernoulli(gen, shape, 1.0 - p, npdtype)


def randint(gen: Generator, shape: Shape, low: int, high: int, npdtype: DTypeLike = np.int64) -> Array:
    """Integers in [low, high): `randint` and `random_(low, high)`. The caller checks that the type holds them."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _offset_remainder(gen, shape, low, high - low, np.dtype(npdtype))


def random_from(gen: Generator, shape: Shape, low: int, npdtype: DTypeLike = np.int64) -> Array:
    """Integers from `low` to the largest the type counts to: `random_(low, None)`."""
    dtype = np.dtype(npdtype)
    if low == -(2**63):
        return _cast_int64(gen.random_uint64(element_count(shape)).view(np.int64), dtype).reshape(shape)
    return _offset_remainder(gen, shape, low, _largest(dtype) - low + 1, dtype)


def random_full(gen: Generator, shape: Shape, npdtype: DTypeLike = np.int64) -> Array:
    """Integers from 0 to the largest the type counts to: `random_()`."""
    dtype, n = np.dtype(npdtype), element_count(shape)
    span = np.uint64(_largest(dtype) + 1)
    # Unlike the bounded form, this one goes by the type and not by the range.
    wide = dtype == FLOAT64 or (dtype.kind in "iu" and dtype.itemsize == 8)
    words = gen.random_uint64(n) if wide else gen.words(n)
    return _cast_int64((words % span).view(np.int64), dtype).reshape(shape)


def _largest(dtype: np.dtype[Any]) -> int:
    if dtype in _INTEGER_LIMIT:
        return _INTEGER_LIMIT[dtype]
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def _offset_remainder(gen: Generator, shape: Shape, low: int, span: int, dtype: np.dtype[Any]) -> Array:
    """low + word % span, wrapping like unsigned 64-bit integers."""
    n = element_count(shape)
    if native is not None and n > FEW and span < 2**64:
        made = np.empty(shape, np.int64)
        if native.random_remainder(gen.memory(), made, low, span) is not None:
            return _cast_int64(made, dtype)
    if span >= _WIDE_RANGE:
        values = gen.random_uint64(n)
        values %= np.uint64(span)
    else:
        short_words = gen.random_uint32(n)
        short_words %= np.uint32(span)
        values = short_words.astype(np.uint64)
    if low:
        values += np.uint64(low & 0xFFFFFFFFFFFFFFFF)
    return _cast_int64(values.view(np.int64), dtype).reshape(shape)


def _cast_int64(values: NDArray[np.int64], dtype: np.dtype[Any]) -> Array:
    if dtype == FLOAT16 or dtype == BFLOAT16:
        return values.astype(np.float32).astype(dtype)
    return values.astype(dtype, copy=False)
