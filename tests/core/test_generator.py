"""Random draws agree, bit by bit, with values recorded from PyTorch 2.13 on the CPU."""
from __future__ import annotations

import copy
import hashlib
import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from retrograd.core import generator as random
from retrograd.core.device import device
from retrograd.core.generator import Generator
from retrograd.core.rng.fused import fma_float32, fma_float64

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "random.json").read_text())


def digest(*parts: np.ndarray) -> str:
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:20]


def numpy_type(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def draw(gen: Generator, name: str, dtype: np.dtype[Any], n: int, args: list[Any]) -> np.ndarray:
    """One recorded kind of draw with n elements, or a number that depends on n."""
    if name == "strided_normal":
        return random.normal(gen, n, *args, dtype, contiguous=n <= 1)
    if name == "bernoulli_ramp":
        return random.bernoulli(gen, n, (np.arange(n) / max(n, 1)).astype(np.float64).astype(dtype), dtype)
    if name == "dropout_mask" and n == 0:
        return np.empty(0, dtype)
    if name == "randperm":
        return random.randperm(gen, min(n, 200) if dtype == np.uint8 else n, dtype)
    if name == "poisson":
        return random.poisson(gen, np.full(min(n, 500), args[0], dtype))
    if name == "multinomial":
        weights = (np.arange(2 * (n + 1)) * 37 % 101 + 0.5).reshape(2, n + 1).astype(dtype)
        return random.multinomial(gen, weights, min((n + 2) // 2, 50), args[0])
    return getattr(random, name)(gen, n, *args, npdtype=dtype)


@pytest.mark.parametrize(
    ("name", "dtype", "args", "expected"), GOLDEN["draws"], ids=lambda value: str(value).replace(" ", "")
)
def test_draws_of_all_sizes_in_a_row_match(name: str, dtype: str, args: list[Any], expected: str) -> None:
    gen = Generator().manual_seed(3)
    parts = [draw(gen, name, numpy_type(dtype), n, args) for n in GOLDEN["sizes"]]
    assert digest(*parts, gen.get_state()) == expected


def test_mixed_draws_print_the_recorded_values() -> None:
    gen, expected = Generator().manual_seed(5), GOLDEN["printed"]
    assert random.uniform(gen, 3).tolist() == expected["rand"]
    assert random.normal(gen, 4).tolist() == expected["randn"]
    assert random.normal(gen, 20).tolist()[:3] == expected["randn_block"]
    assert random.randperm(gen, 8).tolist() == expected["randperm"]
    assert random.randint(gen, 5, 0, 10).tolist() == expected["randint"]
    assert random.bernoulli(gen, 6, 0.5).tolist() == expected["bernoulli"]
    assert random.uniform(gen, 1).tolist() == expected["next"]


@pytest.mark.parametrize(("seed", "initial", "state", "words"), GOLDEN["seeds"])
def test_seeds_wrap_at_64_bits(seed: int, initial: int, state: str, words: list[int]) -> None:
    gen = Generator().manual_seed(seed)
    assert gen.initial_seed() == initial
    assert digest(gen.get_state()) == state
    assert random.randint(gen, 4, 0, 2**16).tolist() == words


@pytest.mark.parametrize(("words", "expected"), GOLDEN["states"])
def test_state_bytes_match_at_every_kind_of_position(words: int, expected: str) -> None:
    gen = Generator().manual_seed(11)
    gen.random_uint32(words)
    if words == 625:
        random.normal(gen, 3)
    assert digest(gen.get_state()) == expected


@pytest.mark.parametrize("words", [0, 1, 623, 624, 625])
def test_a_restored_state_continues_the_stream(words: int) -> None:
    gen = Generator().manual_seed(9)
    gen.random_uint32(words)
    random.normal(gen, 3)
    for other in (
        Generator().set_state(gen.get_state()),
        gen.clone_state(),
        copy.deepcopy(gen),
        pickle.loads(pickle.dumps(gen)),
    ):
        same = gen.clone_state()
        assert other.initial_seed() == 9
        assert random.normal(other, 5).tolist() == random.normal(same, 5).tolist()
        assert other.get_state().tobytes() == same.get_state().tobytes()


def test_a_new_generator_has_the_default_seed_and_seed_changes_it() -> None:
    gen = Generator()
    assert gen.initial_seed() == 67280421310721
    assert gen.device == device("cpu")
    assert gen.seed() == gen.initial_seed() != 67280421310721


def test_64_bit_words_hold_the_first_draw_in_the_high_half() -> None:
    first, second = Generator().manual_seed(1).random_uint32(2).tolist()
    assert random.random_uint64(Generator().manual_seed(1), 1).tolist() == [first << 32 | second]


@pytest.mark.parametrize("bad", [1.5, True, "1", None])
def test_seeds_must_be_integers(bad: Any) -> None:
    with pytest.raises(RuntimeError, match="manual_seed expected a long"):
        Generator().manual_seed(bad)


def test_broken_states_are_refused() -> None:
    gen = Generator()
    with pytest.raises(RuntimeError, match="size to be 50"):
        gen.set_state(np.zeros(50, np.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        gen.set_state(np.zeros(5056, np.uint8))
    with pytest.raises(TypeError, match="ByteTensor"):
        gen.set_state(np.zeros(5056, np.float32))
    with pytest.raises(ValueError, match="Overflow"):
        gen.manual_seed(2**64)


def test_shapes_are_kept_and_arrays_are_contiguous() -> None:
    gen = Generator()
    for array in (
        random.uniform(gen, (3, 4)),
        random.normal(gen, (3, 7)),
        random.normal(gen, (3, 7), npdtype=np.complex64),
        random.randint(gen, (3, 1, 2), 0, 5),
        random.bernoulli(gen, (2, 3), np.full((2, 3), 0.5, np.float32)),
        random.poisson(gen, np.full((2, 3), 4.0)),
    ):
        assert array.flags.c_contiguous and array.ndim >= 2
    assert random.uniform(gen, ()).shape == ()
    assert random.multinomial(gen, np.ones(4), 2).shape == (2,)
    assert random.multinomial(gen, np.ones((3, 4)), 2).shape == (3, 2)


def test_bad_parameters_are_refused() -> None:
    gen = Generator()
    for call, message in (
        (lambda: random.uniform(gen, 3, 3, 2), r"from=3 > to=2"),
        (lambda: random.normal(gen, 3, 0, -1.5), "std >= 0.0, but found std -1.5"),
        (lambda: random.bernoulli(gen, 3, 1.2), "got p=1.2"),
        (lambda: random.bernoulli(gen, 1, np.array([2.0])), "p_in"),
        (lambda: random.exponential(gen, 3, 0.0), "lambda > 0.0"),
        (lambda: random.geometric(gen, 3, 1.0), "got p=1"),
        (lambda: random.randint(gen, 3, 5, 5), "from=5 >= to=5"),
        (lambda: random.multinomial(gen, np.ones(3), 4), "without replacement"),
        (lambda: random.multinomial(gen, np.zeros(3), 2, True), "sum of probabilities <= 0"),
        (lambda: random.multinomial(gen, -np.ones(3), 2), "element < 0"),
        (lambda: random.poisson(gen, np.array([-1.0])), "Poisson rate"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_a_failed_poisson_draw_leaves_the_generator_where_it_was() -> None:
    gen = Generator()
    before = gen.get_state()
    with pytest.raises(RuntimeError):
        random.poisson(gen, np.array([-1.0]))
    assert gen.get_state().tobytes() == before.tobytes()


def test_fused_multiply_add_rounds_once() -> None:
    words = np.random.default_rng(0)
    wide = words.standard_normal(400)
    for b, c in ((1.3, 0.5), (-0.1, 1e-9), (3.7, -2.9), (1e-8, 1.0)):
        assert fma_float64(wide, b, c).tolist() == [float(Fraction(a) * Fraction(b) + Fraction(c)) for a in wide]
    # In float64 the sum rounds up to the middle between two float32 values; its exact value lies below the middle.
    factor = np.array([2.0**-12 * (1 + 2.0**-20)], np.float32)
    assert fma_float32(factor, 2.0**-12 * (1 - 2.0**-20), 1 + 2.0**-23).tolist() == [1 + 2.0**-23]
