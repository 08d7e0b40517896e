"""Samples drawn one after the other: known ones, permutations of any length, weights, and rewinding."""
from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from retrograd.core.rng.mersenne import Generator
from retrograd.core.rng.sampling import multinomial, poisson, randperm


def seeded() -> Generator:
    return Generator().manual_seed(3)


def test_known_permutations() -> None:
    gen = seeded()
    assert randperm(gen, 10).tolist() == [6, 0, 3, 7, 8, 5, 1, 9, 2, 4]
    assert hashlib.sha256(randperm(gen, 30_000).tobytes()).hexdigest()[:20] == "27e9935ac5207229efaa"


def test_known_samples() -> None:
    gen, weights = seeded(), np.array([1, 2, 3, 4], np.float32)
    assert multinomial(gen, weights, 3).tolist() == [0, 3, 1]
    assert multinomial(gen, weights, 6, True).tolist() == [3, 3, 1, 2, 2, 3]
    assert poisson(seeded(), np.array([0, 0.5, 3, 20, 100], np.float32)).tolist() == [0.0, 0.0, 2.0, 24.0, 90.0]


@pytest.mark.parametrize("n", [0, 1, 2, 255, 256, 257, 20_000, 20_001, 20_300, 41_000])
def test_a_permutation_is_the_shuffle_of_its_words(n: int) -> None:
    steps = max(n - 1, 0)
    words = seeded().words(steps).tolist()
    order = list(range(n))
    for i, word in enumerate(words):
        j = i + word % (n - i)
        order[i], order[j] = order[j], order[i]
    gen, other = seeded(), seeded()
    other.words(steps)
    assert randperm(gen, n).tolist() == order
    assert gen.words(1).tolist() == other.words(1).tolist()


def test_permutations_of_other_types() -> None:
    assert randperm(seeded(), 5, np.float32).dtype == np.float32
    with pytest.raises(RuntimeError, match=r"Trying to create tensor with negative dimension -1: \[-1\]"):
        randperm(seeded(), -1)


@pytest.mark.parametrize("replacement", [False, True])
def test_weights_of_zero_are_never_drawn(replacement: bool) -> None:
    weights = np.array([[0.0, 1.0, 0.0, 2.0, 3.0], [1.0, 1.0, 1.0, 0.0, 0.0]])
    for _ in range(3):
        drawn = multinomial(seeded(), weights, 3, replacement)
        assert drawn.shape == (2, 3) and drawn.dtype == np.int64
        assert not set(drawn[0]) & {0, 2} and not set(drawn[1]) & {3, 4}
        assert replacement or all([len(set(row)) == 3 for row in drawn.tolist()])


def test_few_of_many_are_the_first_of_all() -> None:
    weights = np.arange(1, 401, dtype=np.float32)
    assert multinomial(seeded(), weights, 5).tolist() == multinomial(seeded(), weights, 400).tolist()[:5]
    assert multinomial(seeded(), weights, 1).tolist() == multinomial(seeded(), weights, 400).tolist()[:1]


@pytest.mark.parametrize(("weights", "count", "replacement", "message"), [
    (np.ones((1, 1, 1)), 1, False, "prob_dist must be 1 or 2 dim"),
    (np.ones(3), 0, False, "cannot sample n_sample <= 0 samples"),
    (np.ones(3), 4, False, r"cannot sample n_sample > prob_dist.size\(-1\) samples without replacement"),
    (np.array([1.0, -1.0]), 2, False, "probability tensor contains either `inf`, `nan` or element < 0"),
    (np.array([1.0, np.nan]), 2, False, "probability tensor contains either `inf`, `nan` or element < 0"),
    (np.zeros(3), 2, False, r"invalid multinomial distribution \(sum of probabilities <= 0\)"),
    (np.zeros(3), 2, True, r"invalid multinomial distribution \(sum of probabilities <= 0\)"),
    (np.array([1.0, np.inf]), 2, True, r"encountering probability entry = infinity or NaN"),
    (np.array([1.0, -1.0]), 2, True, r"encountering probability entry < 0"),
])
def test_wrong_weights_draw_nothing(weights: Any, count: int, replacement: bool, message: str) -> None:
    gen = seeded()
    with pytest.raises(RuntimeError, match=message):
        multinomial(gen, weights, count, replacement)
    assert gen.get_state().tobytes() == seeded().get_state().tobytes()


def test_counts_of_single_rates_are_those_of_an_array() -> None:
    rates = np.array([0.3, 5.0, 12.0, 0.0, 400.0, 9.9, 10.0] * 20)
    together, gen = seeded(), seeded()
    whole = poisson(together, rates)
    assert [poisson(gen, np.array([rate]))[0] for rate in rates] == whole.tolist()
    assert gen.get_state().tobytes() == together.get_state().tobytes()


def test_counts_have_the_mean_of_their_rate() -> None:
    for rate in (0.5, 5.0, 50.0):
        drawn = poisson(seeded(), np.full(4000, rate))
        assert abs(drawn.mean() - rate) < 5 * (rate / 4000) ** 0.5
