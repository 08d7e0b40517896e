"""Random fills of half precision: compiled code draws what the reference draws, from the same numbers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import generator

FILLS: dict[str, tuple[tuple[float, ...], Callable[..., Any]]] = {
    "normal_": ((1.0, 2.0), generator.normal), "uniform_": ((-2.0, 3.0), generator.uniform),
    "exponential_": ((2.0,), generator.exponential), "cauchy_": ((0.5, 2.0), generator.cauchy),
    "log_normal_": ((0.5, 0.25), generator.log_normal), "geometric_": ((0.3,), generator.geometric),
    "bernoulli_": ((0.3,), generator.bernoulli)}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", FILLS)
def test_fills_of_halves_draw_what_the_reference_draws(name: str, dtype: Any) -> None:
    args, draw = FILLS[name]
    for n in (1, 15, 16, 17, 100):
        torch.manual_seed(n)
        made = getattr(torch.empty(n, dtype=dtype), name)(*args)
        following = torch.rand(2)
        gen = generator.Generator()
        gen.manual_seed(n)
        wanted = draw(gen, n, *args, dtype.numpy)
        assert made.dtype is dtype
        assert np.array_equal(made.float().numpy(), wanted.astype(np.float32), equal_nan=True)
        assert np.array_equal(following.numpy(), generator.uniform(gen, 2))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_uniform_halves_stay_below_the_end_of_the_range(dtype: Any) -> None:
    torch.manual_seed(0)
    x = torch.rand(20000, dtype=dtype)
    assert x.max() < 1
    assert x.min() >= 0
