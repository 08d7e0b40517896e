"""Continuous draws: known numbers of each distribution, what a draw costs, casts, and the ends of intervals."""
from __future__ import annotations

import hashlib
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from retrograd.core.rng import continuous
from retrograd.core.rng.continuous import cauchy, exponential, log_normal, normal, uniform
from retrograd.core.rng.mersenne import Generator


def seeded() -> Generator:
    return Generator().manual_seed(3)


def digest(array: Any) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:20]


@pytest.mark.parametrize(("draw", "expected"), [
    (lambda gen: exponential(gen, 4, 0.5), [0.0694069117307663, 0.6758191585540771, 2.9648613929748535, 0.38456690311431885]),
    (lambda gen: cauchy(gen, 4, 1.0, 2.0), [-17.593225479125977, -0.584428071975708, 3.3108747005462646, -2.26538348197937]),
    (lambda gen: log_normal(gen, 4, 0.5, 0.25), [2.0154027938842773, 1.7223821878433228, 1.685807228088379, 1.414209246635437]),
    (lambda gen: uniform(gen, 3, -2.0, 5.0), [-1.9701553583145142, -1.261014461517334, 0.0008973479270935059]),
    (lambda gen: uniform(gen, 3, -2.0, 5.0, np.float64), [-1.7612426304463566, 0.007181587049148619, 3.4104046103000902]),
])
def test_known_numbers(draw: Any, expected: list[float]) -> None:
    assert draw(seeded()).tolist() == expected


def test_known_normal_numbers_one_by_one_and_in_blocks() -> None:
    gen = seeded()
    assert normal(gen, 5).tolist() == [0.8032760620117188, 0.17483338713645935, 0.08897809684276581, -0.6137180328369141,
                                       0.04618244990706444]
    assert digest(normal(gen, 16)) == "03df6d367f4d889072ac"
    assert digest(normal(gen, 37)) == "50856d837ec686e0362a"
    assert digest(normal(gen, 37, npdtype=np.float64)) == "0baacd5c16bc57dc1aa0"
    assert digest(normal(gen, 37, npdtype=np.float16)) == "089f0b953da9dd064b55"


@pytest.mark.parametrize(("draw", "words"), [
    (lambda gen, n: uniform(gen, n), lambda n: n),
    (lambda gen, n: uniform(gen, n, npdtype=np.float64), lambda n: 2 * n),
    (lambda gen, n: uniform(gen, n, npdtype=np.complex64), lambda n: 2 * n),
    (lambda gen, n: exponential(gen, n), lambda n: 2 * n),
    (lambda gen, n: cauchy(gen, n), lambda n: 2 * n),
    (lambda gen, n: normal(gen, n, contiguous=False), lambda n: 2 * (n + n % 2)),
    (lambda gen, n: normal(gen, n), lambda n: 2 * (n + n % 2) if n < 16 else n + (16 if n % 16 else 0)),
    (lambda gen, n: normal(gen, n, npdtype=np.float64),
     lambda n: 2 * (n + n % 2) if n < 16 else 2 * (n + (16 if n % 16 else 0))),
    (lambda gen, n: normal(gen, n, npdtype=np.float16), lambda n: 2 * (n + n % 2) if n < 16 else -(-n // 16) * 16),
])
def test_what_a_draw_costs(draw: Any, words: Any) -> None:
    for n in (0, 1, 2, 5, 15, 16, 17, 31, 32, 33):
        gen, other = seeded(), seeded()
        draw(gen, n)
        other.words(words(n))
        assert gen.words(3).tolist() == other.words(3).tolist(), n


def test_normal_pairs_leave_the_second_half_behind() -> None:
    together = normal(seeded(), 6).tolist()
    gen = seeded()
    parts = [normal(gen, n).tolist() for n in (1, 1, 0, 3, 1)]
    assert [x for part in parts for x in part] == together and gen.next_normal is None


def test_many_single_normal_values_are_the_few_at_a_time() -> None:
    many = normal(seeded(), 101, contiguous=False, npdtype=np.float64)
    gen = seeded()
    few = [normal(gen, 1, npdtype=np.float64)[0] for _ in range(101)]
    assert many.tolist() == few


def test_mean_and_deviation_scale_the_standard_values() -> None:
    for n in (5, 64):
        standard = normal(seeded(), n, npdtype=np.float64)
        assert np.allclose(normal(seeded(), n, 2.0, 3.0, np.float64), standard * 3 + 2, rtol=1e-12, atol=0)
    assert normal(seeded(), 64, 2.0, 0.0).tolist() == [2.0] * 64


def test_complex_parts_share_the_variance() -> None:
    z = normal(seeded(), 40, npdtype=np.complex128)
    parts = normal(seeded(), 80, 0.0, 1 / math.sqrt(2), np.float64)
    assert z.real.tolist() == parts[::2].tolist() and z.imag.tolist() == parts[1::2].tolist()


def test_uniform_never_reaches_its_upper_end() -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        values = uniform(seeded(), 20_000, 1.0, 1.0001, dtype)
        upper = np.asarray(1.0001, dtype)
        assert bool((values >= np.asarray(1.0, dtype)).all())
        assert bool((values < upper).all()) or float(upper) == 1.0
    assert uniform(seeded(), 3, 2.0, 2.0).tolist() == [2.0] * 3


def test_narrow_types_round_through_float32_and_integers_cut_off() -> None:
    # in one step this number would round up, through float32 it lands on a tie and goes to the even neighbour
    value = 1 + 2.0**-11 + 2.0**-40
    assert continuous.narrow(np.array([value]), np.dtype(np.float16)).tolist() == [1.0]
    assert np.array([value]).astype(np.float16).tolist() != [1.0]
    assert continuous.narrow(np.array([2.9, -2.9]), np.dtype(np.int32)).tolist() == [2, -2]
    assert continuous.narrow(np.array([1e300]), np.dtype(np.float32)).tolist() == [math.inf]


@pytest.mark.parametrize(("shape", "count"), [((), 1), ((3,), 3), ((2, 3), 6), ((0, 4), 0), (7, 7)])
def test_shapes(shape: Any, count: int) -> None:
    assert continuous.element_count(shape) == count
    for draw in (uniform, normal, exponential, cauchy, log_normal):
        made = draw(seeded(), shape)
        assert made.shape == ((shape,) if isinstance(shape, int) else shape) and made.flags.c_contiguous


@pytest.mark.parametrize(("draw", "message"), [
    (lambda gen: uniform(gen, 1, 2.0, 1.0), r"uniform_ expects to return a \[from, to\) range, but found from=2 > to=1"),
    (lambda gen: normal(gen, 1, 0.0, -1.0), "normal expects std >= 0.0, but found std -1"),
    (lambda gen: normal(gen, 1, 0.0, math.nan), "normal expects std >= 0.0, but found std nan"),
    (lambda gen: log_normal(gen, 1, 0.0, 0.0), "log_normal_ expects std > 0.0, but found std=0"),
    (lambda gen: exponential(gen, 1, 0.0), "exponential_ expects lambda > 0.0, but found lambda=0"),
    (lambda gen: cauchy(gen, 1, 0.0, 0.0), "cauchy_ expects sigma > 0.0, but found sigma=0"),
])
def test_wrong_parameters_draw_nothing(draw: Any, message: str) -> None:
    gen = seeded()
    with pytest.raises(RuntimeError, match=message):
        draw(gen)
    assert gen.get_state().tobytes() == seeded().get_state().tobytes()
