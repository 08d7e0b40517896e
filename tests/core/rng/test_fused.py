"""Fused multiply-add: one rounding, checked with exact fractions."""
from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from retrograd.core.rng.fused import fma_float32, fma_float64


def exact(a: Any, b: float, c: float) -> Any:
    """The fractions a * b + c."""
    return [Fraction(float(x)) * Fraction(b) + Fraction(c) for x in a]


def nearest_float32(value: Fraction) -> float:
    """The float32 nearest to a fraction, ties to even, without a second rounding."""
    near = np.float32(float(value))
    options = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    best = min([abs(Fraction(float(o)) - value) for o in options])
    found = [o for o in options if abs(Fraction(float(o)) - value) == best]
    even = [o for o in found if int(np.asarray(o).view(np.uint32)) % 2 == 0]
    return float((even if len(found) > 1 else found)[0])


@pytest.mark.parametrize(("b", "c"), [(1.3, 0.7), (-2.9, 1.0), (1e-3, 1.0), (1.0, 0.1), (3.0, 0.0), (1 + 2.0**-52, -1.0)])
def test_float64_rounds_once(b: float, c: float) -> None:
    a = np.random.default_rng(5).uniform(-4, 4, 300)
    assert fma_float64(a, b, c).tolist() == [float(value) for value in exact(a, b, c)]


@pytest.mark.parametrize(("b", "c"), [(1.25, 0.75), (-2.9, 1.0), (2.0**-12, 1.0), (1 + 2.0**-23, -1.0), (0.1, 0.3)])
def test_float32_rounds_once(b: float, c: float) -> None:
    b, c = float(np.float32(b)), float(np.float32(c))
    rng = np.random.default_rng(5)
    a = np.concatenate([rng.uniform(-4, 4, 300), 2.0**-12 * (1 + rng.integers(-3, 4, 50) * 2.0**-20)]).astype(np.float32)
    assert fma_float32(a, b, c).tolist() == [nearest_float32(value) for value in exact(a, b, c)]
