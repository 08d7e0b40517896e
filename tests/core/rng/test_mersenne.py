"""The generator and its state: words, seeds, bytes and round trips at every position, against values of PyTorch 2.13."""
from __future__ import annotations

import copy
import hashlib
import pickle
from typing import Any

import numpy as np
import pytest

from retrograd.core.rng import mersenne
from retrograd.core.rng.continuous import normal, uniform
from retrograd.core.rng.mersenne import DEFAULT_SEED, STATE_LAYOUT, TWISTER_WORDS, Generator


def digest(states: list[np.ndarray[Any, Any]]) -> str:
    return hashlib.sha256(b"".join([state.tobytes() for state in states])).hexdigest()[:20]


def test_the_bytes_of_the_state_match_before_every_one_of_1300_draws() -> None:
    gen = Generator().manual_seed(7)
    states = []
    for _ in range(1300):
        states.append(gen.get_state())
        gen.words(1)
    assert digest(states) == "664208b1944af65b5114"


def test_the_bytes_of_the_state_match_while_normal_values_wait() -> None:
    gen = Generator().manual_seed(7)
    states = []
    for i in range(40):
        states.append(gen.get_state())
        normal(gen, 1 + i % 4)
    assert digest(states) == "1102ca6f654bbd9ee01a"


def test_a_state_set_at_any_position_goes_on_from_there() -> None:
    stream = Generator().manual_seed(5).words(1300).tolist()
    walking, other = Generator().manual_seed(5), Generator()
    for position in range(1290):
        if position % 7 == 0 or 620 <= position <= 630 or position >= 1246:
            other.set_state(walking.get_state())
            assert other.words(9).tolist() == stream[position:position + 9]
        walking.words(1)


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625, 1248])
def test_get_after_set_gives_the_same_bytes(drawn: int) -> None:
    gen = Generator().manual_seed(5)
    gen.words(drawn)
    state = gen.get_state()
    for other in (Generator().set_state(state), pickle.loads(pickle.dumps(gen)), copy.deepcopy(gen), gen.clone_state()):
        assert other.get_state().tobytes() == state.tobytes()
        assert other.initial_seed() == 5


def test_a_state_is_a_copy() -> None:
    gen = Generator().manual_seed(5)
    state = gen.get_state()
    before = state.tobytes()
    gen.words(3)
    assert state.tobytes() == before
    state[:] = 0
    assert gen.words(1).tolist() == Generator().manual_seed(5).words(4)[3:].tolist()


def test_a_value_that_waits_travels_with_the_state() -> None:
    gen = Generator().manual_seed(5)
    expected = normal(Generator().manual_seed(5), 2).tolist()
    first = normal(gen, 1).tolist()
    other = Generator().set_state(gen.get_state())
    assert first + normal(other, 1).tolist() == expected
    fields = gen.get_state().view(STATE_LAYOUT)[0]
    assert fields["normal_is_valid"] == 1 and np.float32(fields["normal_y"]) == np.float32(expected[1])


def test_seeding_forgets_a_value_that_waits() -> None:
    gen = Generator().manual_seed(5)
    normal(gen, 1)
    gen.manual_seed(5)
    assert gen.next_normal is None
    assert gen.get_state().tobytes() == Generator().manual_seed(5).get_state().tobytes()


@pytest.mark.parametrize(("seed", "expected"), [
    (0, [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]),
    (1, [0.7576315999031067, 0.2793108820915222, 0.40306925773620605]),
    (42, [0.8822692632675171, 0.9150039553642273, 0.38286375999450684]),
    (2**32 + 5, [0.8302518725395203, 0.12611091136932373, 0.9074696898460388]),
    (2**63, [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]),        # the low 32 bits seed the twister
])
def test_seeds_give_the_known_numbers(seed: int, expected: list[float]) -> None:
    gen = Generator().manual_seed(seed)
    assert uniform(gen, 3).tolist() == expected
    assert gen.initial_seed() == seed


def test_negative_seeds_count_back() -> None:
    assert Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    assert Generator().manual_seed(-(2**63)).initial_seed() == 2**63
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            Generator().manual_seed(wrong)


def test_a_seed_may_be_anything_that_is_an_integer() -> None:
    class Index:
        def __index__(self) -> int:
            return 9

    for seed in (Index(), np.int64(9), np.uint8(9)):
        assert Generator().manual_seed(seed).words(2).tolist() == Generator().manual_seed(9).words(2).tolist()


def test_the_twister_is_made_for_the_first_draw() -> None:
    gen = Generator()
    assert not gen._started and gen.initial_seed() == DEFAULT_SEED
    gen.manual_seed(3)
    assert not gen._started
    words = gen.random_uint32(2)
    assert gen._started and words.dtype == np.uint32
    assert words.tolist() == Generator().manual_seed(3).random_uint32(2).tolist()
    with pytest.raises(AttributeError, match="'Generator' object has no attribute 'nothing'"):
        _ = gen.nothing


def test_a_64_bit_word_is_two_draws() -> None:
    high, low = Generator().manual_seed(3).random_uint32(2).tolist()
    assert Generator().manual_seed(3).random_uint64(1).tolist() == [(high << 32) + low]


def test_the_memory_of_the_twister_is_what_numpy_says() -> None:
    bits = np.random.MT19937(4)
    memory = mersenne.twister_memory(bits)
    bits.random_raw(5)
    known = bits.state["state"]
    assert memory[TWISTER_WORDS] == known["pos"]
    assert np.array_equal(memory[:TWISTER_WORDS], known["key"])


@pytest.mark.parametrize(("change", "error", "message"), [
    (lambda s: s[:-1], RuntimeError,
     "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 5055"),
    (lambda s: s.astype(np.int64), TypeError, "RNG state must be a torch.ByteTensor"),
    (lambda s: s * 0, RuntimeError, "Invalid mt19937 state"),
])
def test_states_that_are_none_are_refused_and_change_nothing(change: Any, error: Any, message: str) -> None:
    gen = Generator().manual_seed(3)
    state = gen.get_state()
    with pytest.raises(error, match=message):
        gen.set_state(change(state))
    assert gen.get_state().tobytes() == state.tobytes()


def test_what_only_other_devices_have() -> None:
    gen = Generator()
    for call in (gen.get_offset, lambda: gen.set_offset(1)):
        with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
            call()
    for call in (gen.graphsafe_get_state, lambda: gen.graphsafe_set_state(gen)):
        with pytest.raises(NotImplementedError, match="is not supported in this Generator"):
            call()
    with pytest.raises(RuntimeError, match="META device type not an accelerator."):
        Generator("meta")
