"""Uniform draws: which bits of which words they are made of."""
from __future__ import annotations

import numpy as np
import pytest

from retrograd.core.rng.mersenne import Generator
from retrograd.core.rng.unit import unit_float32, unit_float64, unit_int53


def words(n: int) -> list[int]:
    return [int(word) for word in Generator().manual_seed(11).words(n)]


def test_float32_takes_the_low_24_bits_of_one_word() -> None:
    made = unit_float32(Generator().manual_seed(11), 50)
    assert made.dtype == np.float32
    assert made.tolist() == [(word & 0xFFFFFF) / 2**24 for word in words(50)]


def test_float64_takes_53_bits_of_two_words() -> None:
    pairs = words(100)
    expected = [((high & 0x1FFFFF) << 32) + low for high, low in zip(pairs[::2], pairs[1::2], strict=True)]
    assert unit_int53(Generator().manual_seed(11), 50).tolist() == expected
    assert unit_float64(Generator().manual_seed(11), 50).tolist() == [n / 2**53 for n in expected]


@pytest.mark.parametrize(("draw", "cost"), [(unit_float32, 1), (unit_float64, 2), (unit_int53, 2)])
def test_draws_in_parts_are_the_draw_in_one(draw: object, cost: int) -> None:
    assert callable(draw)
    whole, parts = Generator().manual_seed(11), Generator().manual_seed(11)
    together = draw(whole, 10).tolist()
    assert draw(parts, 0).tolist() + draw(parts, 3).tolist() + draw(parts, 7).tolist() == together
    assert whole.words(1).tolist() == words(10 * cost + 1)[-1:]


def test_known_numbers() -> None:
    gen = Generator().manual_seed(42)
    assert unit_float32(gen, 3).tolist() == [0.8822692632675171, 0.9150039553642273, 0.38286375999450684]
    assert unit_float64(gen, 2).tolist() == [0.6744455013246242, 0.8071630471508437]
