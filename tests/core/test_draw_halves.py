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


WHOLE = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
         torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers_of_every_dtype_are_those_of_the_reference(dtype: Any) -> None:
    low = 0 if dtype in (torch.bool, torch.uint8) else -3
    bounds = (0, 2) if dtype is torch.bool else (low, 100)
    for n in (1, 17, 1000):
        torch.manual_seed(n)
        made = [torch.empty(n, dtype=dtype).random_(), torch.empty(n, dtype=dtype).random_(*bounds),
                torch.empty(n, dtype=dtype).random_(low, None), torch.empty(n, dtype=dtype).bernoulli_(0.3)]
        gen = generator.Generator()
        gen.manual_seed(n)
        wanted = [generator.random_full(gen, n, dtype.numpy), generator.randint(gen, n, *bounds, dtype.numpy),
                  generator.random_from(gen, n, low, dtype.numpy), generator.bernoulli(gen, n, 0.3, dtype.numpy)]
        for a, b in zip(made, wanted, strict=True):
            assert a.dtype is dtype and np.array_equal(a.array, b)


@pytest.mark.parametrize("chance", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("dtype", WHOLE)
def test_chances_of_every_dtype_draw_what_the_reference_draws(dtype: Any, chance: Any) -> None:
    p = torch.linspace(0, 1, 7).to(chance)
    torch.manual_seed(3)
    made = torch.empty(40, 7, dtype=dtype).bernoulli_(p)
    gen = generator.Generator()
    gen.manual_seed(3)
    wanted = generator.bernoulli(gen, (40, 7), np.broadcast_to(p.array, (40, 7)), dtype.numpy)
    assert np.array_equal(made.array, wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64, torch.complex128])
def test_equality_is_that_of_the_numbers(dtype: Any) -> None:
    zeros = torch.zeros(300, dtype=dtype)
    assert torch.equal(zeros, -zeros)
    other = zeros.clone()
    other[299] = 1
    assert not torch.equal(zeros, other) and torch.equal(other, other.clone())
    other[0] = float("nan")
    assert not torch.equal(other, other)
    assert not torch.equal(zeros, zeros[:299]) and torch.equal(zeros[::2], -zeros[1::2])
