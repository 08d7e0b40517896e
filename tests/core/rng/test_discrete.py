"""Discrete draws: known numbers, which words they take, and bounds."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from retrograd.core.rng.discrete import bernoulli, dropout_mask, geometric, randint, random_from, random_full
from retrograd.core.rng.mersenne import Generator


def seeded(seed: int = 3) -> Generator:
    return Generator().manual_seed(seed)


def test_known_numbers() -> None:
    assert geometric(seeded(), 4, 0.3).tolist() == [10.0, 4.0, 1.0, 5.0]
    assert bernoulli(seeded(), 8, 0.3).tolist() == [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]


def test_known_integers() -> None:
    gen = seeded()
    assert random_full(gen, 3, np.uint8).tolist() == [106, 152, 249]
    assert random_full(gen, 3, np.int64).tolist() == [6270952982724524984, 2238117252665022720, 1278568289900440573]
    assert random_full(gen, 3, np.float32).tolist() == [14895652.0, 7566821.0, 13413223.0]
    assert random_full(gen, 3, np.bool_).tolist() == [True, True, False]
    assert random_from(gen, 2, -(2**63)).tolist() == [4572732061138089079, 1725720498535983584]


@pytest.mark.parametrize(("seed", "narrow", "wide"), [
    (0, [149257588, 208970767], [909012193557, 1041261508388]), (1, [264314516, 93440849], [825030312080, 554850762700]),
    (42, [147532829, 133224040], [520361034194, 919372468554]),
])
def test_narrow_ranges_take_one_word_and_wide_ones_two(seed: int, narrow: Any, wide: Any) -> None:
    gen = seeded(seed)
    gen.words(3 + 4)
    assert randint(gen, 2, 0, 2**28 - 1).tolist() == narrow
    assert randint(gen, 2, 0, 2**40).tolist() == wide


def test_integers_are_remainders_of_words() -> None:
    words = seeded().random_uint32(20)
    assert randint(seeded(), 20, -5, 95).tolist() == [int(w) % 100 - 5 for w in words]
    pairs = seeded().random_uint64(20)
    assert randint(seeded(), 20, -5, 2**30).tolist() == [int(w) % (2**30 + 5) - 5 for w in pairs]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64, np.float16, ml_dtypes.bfloat16, np.float32,
                                   np.float64])
def test_full_ranges_stay_where_integers_are_exact(dtype: Any) -> None:
    values = random_full(seeded(), 2000, dtype)
    limit = {np.float16: 2**11, ml_dtypes.bfloat16: 2**8, np.float32: 2**24, np.float64: 2**53}.get(dtype)
    top = limit if limit is not None else int(np.iinfo(dtype).max)
    wide = values.astype(np.float64)
    assert values.dtype == dtype and wide.min() >= 0 and wide.max() <= top and wide.max() > top * 0.95


def test_chances_of_zero_and_one_are_certain() -> None:
    assert bernoulli(seeded(), 100, 0.0).sum() == 0 and bernoulli(seeded(), 100, 1.0).sum() == 100
    assert bernoulli(seeded(), 3, np.array([0.0, 1.0, 0.0], np.float32)).tolist() == [0.0, 1.0, 0.0]
    assert dropout_mask(seeded(), 8, 0.7).tolist() == bernoulli(seeded(), 8, 1.0 - 0.7).tolist()


def test_an_array_of_chances_costs_by_its_type() -> None:
    for chances, cost in ((np.full(4, 0.5), 2), (np.full(4, 0.5, np.float32), 1), (np.full(4, 0.5, np.float16), 1)):
        gen, other = seeded(), seeded()
        bernoulli(gen, 4, chances)
        other.words(4 * cost)
        assert gen.words(1).tolist() == other.words(1).tolist()


@pytest.mark.parametrize(("draw", "message"), [
    (lambda gen: randint(gen, 1, 5, 5), "random_ expects 'from' to be less than 'to', but got from=5 >= to=5"),
    (lambda gen: bernoulli(gen, 1, 1.5), r"bernoulli_ expects p to be in \[0, 1\], but got p=1.5"),
    (lambda gen: bernoulli(gen, 1, np.array([-0.1])), "Expected p_in >= 0 && p_in <= 1 to be true, but got false."),
    (lambda gen: geometric(gen, 1, 0.0), r"geometric_ expects p to be in \(0, 1\), but got p=0"),
])
def test_wrong_parameters_draw_nothing(draw: Any, message: str) -> None:
    gen = seeded()
    with pytest.raises(RuntimeError, match=message):
        draw(gen)
    assert gen.get_state().tobytes() == seeded().get_state().tobytes()
