"""Functions of the C library over arrays: the same last bit as `math`, and the ends that `math` refuses."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from retrograd.core.rng import libm


@pytest.mark.parametrize(("function", "reference", "low", "high"), [
    (libm.exact_log, math.log, 1e-9, 1.0), (libm.exact_log1p, math.log1p, -0.999, 0.0), (libm.exact_exp, math.exp, -30.0, 30.0),
    (libm.exact_tan, math.tan, -1.5, 1.5),
])
def test_every_bit_is_the_one_of_the_c_library(function: Any, reference: Any, low: float, high: float) -> None:
    values = np.random.default_rng(2).uniform(low, high, (10, 20))
    made = function(values)
    assert made.shape == (10, 20) and made.dtype == np.float64
    assert made.ravel().tolist() == [reference(x) for x in values.ravel().tolist()]


def test_ends_that_math_refuses() -> None:
    assert libm.exact_log(np.array([0.0, 1.0])).tolist() == [-math.inf, 0.0]
    assert libm.exact_exp(np.array([1e4, 0.0])).tolist() == [math.inf, 1.0]
    assert libm.exact_log(np.empty(0)).shape == (0,)
