"""Normal values out of uniform ones: both precisions against the plain formula, block by block."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retrograd.core.rng.boxmuller import BLOCK, normal_blocks_float32, normal_blocks_float64
from retrograd.core.rng.mersenne import Generator
from retrograd.core.rng.unit import unit_float64


def formula(uniform: Any) -> Any:
    rows = uniform.astype(np.float64).reshape(-1, BLOCK)
    radius = np.sqrt(-2 * np.log(1 - rows[:, :8]))
    angle = rows[:, 8:] * (2 * np.pi)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)


@pytest.mark.parametrize(("transform", "dtype", "close"), [
    (normal_blocks_float32, np.float32, 2e-6), (normal_blocks_float64, np.float64, 1e-14)])
@pytest.mark.parametrize("blocks", [1, 3, 2049])
def test_blocks_follow_the_formula(transform: Any, dtype: Any, close: float, blocks: int) -> None:
    uniform = unit_float64(Generator().manual_seed(1), blocks * BLOCK).astype(dtype)
    uniform[uniform == 1] = 0
    expected = formula(uniform)
    transform(uniform)
    assert uniform.dtype == dtype and np.allclose(uniform, expected, rtol=close, atol=close)


@pytest.mark.parametrize(("transform", "dtype", "largest"), [
    (normal_blocks_float32, np.float32, 1 - 2.0**-24), (normal_blocks_float64, np.float64, 1 - 2.0**-53)])
def test_the_ends_of_the_interval_give_finite_values(transform: Any, dtype: Any, largest: float) -> None:
    uniform = np.array([0.0] * 8 + [0.25] * 8 + [largest] * 16 + [0.5] * 8 + [i / 8 for i in range(8)], dtype)
    expected = formula(uniform)
    transform(uniform)
    assert np.isfinite(uniform).all() and np.allclose(uniform, expected, rtol=1e-5, atol=1e-5)
    assert uniform[:16].tolist() == [0.0] * 16
