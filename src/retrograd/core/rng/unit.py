"""Uniform draws in [0, 1), the raw material of every distribution."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograd.core.algorithms import native
from retrograd.core.rng.mersenne import Generator

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import NDArray

FEW = 64                # up to this many draws NumPy is faster than reading the twister's memory
_LOW_24_BITS = np.uint64((1 << 24) - 1)
_LOW_21_BITS = np.uint64((1 << 21) - 1)
_PAIR_BITS = np.array([(1 << 21) - 1, (1 << 32) - 1], np.uint64)
_PAIR_WEIGHTS = np.array([1 << 32, 1], np.uint64)
SOME = 1024
_HALF_WORD = np.uint64(32)
_SCALE_24 = np.float32(2.0**-24)


def unit_float32(gen: Generator, n: int) -> NDArray[np.float32]:
    """n values k * 2**-24, from the low 24 bits of one word each."""
    if native is not None and n > FEW:
        made = np.empty(n, np.float32)
        native.random_unit(gen.memory(), made)
        return made
    words = gen.words(n)
    words &= _LOW_24_BITS
    result: NDArray[np.float32] = words.astype(np.float32)
    result *= _SCALE_24
    return result


def unit_int53(gen: Generator, n: int) -> NDArray[np.uint64]:
    """n integers below 2**53, from the low 53 bits of two words each, the first of them the high one."""
    words = gen.words(2 * n)
    result: NDArray[np.uint64]
    if n <= SOME:             # fewer calls, each of which takes longer per element
        words = words.reshape(n, 2)
        words &= _PAIR_BITS
        result = words.dot(_PAIR_WEIGHTS)
        return result
    result = words[0::2] & _LOW_21_BITS
    result <<= _HALF_WORD
    result |= words[1::2]
    return result


def unit_float64(gen: Generator, n: int) -> NDArray[np.float64]:
    """n values k * 2**-53."""
    if native is not None and n > FEW:
        made = np.empty(n)
        native.random_unit(gen.memory(), made)
        return made
    result: NDArray[np.float64] = unit_int53(gen, n).astype(np.float64)
    result *= 2.0**-53
    return result
