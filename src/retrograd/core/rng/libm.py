"""Elementwise log, log1p, exp and tan in float64 through the C library, whose last bit the reference shares."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import NDArray

    Float64 = NDArray[np.float64]


def _mapped(function: Callable[[float], float], x: Float64) -> Float64:
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def exact_log(x: Float64) -> Float64:
    """log of values in [0, inf)."""
    try:
        return _mapped(math.log, x)
    except ValueError:  # math.log refuses 0, which NumPy takes to -inf
        return np.log(x)


def exact_log1p(x: Float64) -> Float64:
    """log1p of values in (-1, inf)."""
    return _mapped(math.log1p, x)


def exact_exp(x: Float64) -> Float64:
    try:
        return _mapped(math.exp, x)
    except OverflowError:  # math.exp refuses what NumPy takes to inf
        return np.exp(x)


def exact_tan(x: Float64) -> Float64:
    return _mapped(math.tan, x)
