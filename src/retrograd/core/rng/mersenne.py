"""The CPU random generator: a 32-bit Mersenne Twister with PyTorch's seeding rules and state layout."""
from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.core.device import device, parse_device

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import NDArray

DEFAULT_SEED = 67280421310721
TWISTER_WORDS = 624
_LOW_32_BITS = 0xFFFFFFFF
_LOW_64_BITS = 0xFFFFFFFFFFFFFFFF

# The exchange format keeps each 32-bit word in 64 bits, and reserves room for fields that no kernel fills any more.
STATE_LAYOUT = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal_x", "normal_y", "normal_rho", "normal_is_valid"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", TWISTER_WORDS), "<f8", "<f8", "<f8", "<i4"],
        "offsets": [0, 8, 12, 16, 24, 5016, 5024, 5032, 5040],
        "itemsize": 5056,
    }
)


def twister_memory(bits: Any) -> np.ndarray:
    """The words of NumPy's twister and, behind them, its position: reading them one by one takes NumPy far longer."""
    memory: Any = (ctypes.c_uint32 * (TWISTER_WORDS + 1)).from_address(bits.ctypes.state_address)
    made = np.frombuffer(memory, np.uint32)
    known = bits.state["state"]
    if made[TWISTER_WORDS] != known["pos"] or not np.array_equal(made[:TWISTER_WORDS], known["key"]):
        raise RuntimeError("this version of NumPy keeps the state of its random generator in another form than is known here")
    return made


class Generator:
    """A source of random numbers that draws the same stream as PyTorch's CPU generator for the same seed.

    >>> Generator().manual_seed(0).random_uint32(2)
    array([2357136044, 2546248239], dtype=uint32)
    """

    __slots__ = ("_device", "_seed", "_bits", "_legacy", "_memory", "_seeded", "_started", "words", "next_normal",
                 "__weakref__")

    def __init__(self, device: Any = "cpu") -> None:
        self._device = parse_device(device)
        if self._device.type == "meta":
            raise RuntimeError("META device type not an accelerator.")
        # The second half of the last one-at-a-time normal pair, waiting for the next odd draw.
        self.next_normal: float | None = None
        self._seed = DEFAULT_SEED
        self._seeded: Any = None          # (a seed, the words that it gives), once they had to be known
        self._started = False

    def __getattr__(self, name: str) -> Any:
        # Only reached while a slot is empty: the twister is made for the first draw, since numpy.random is slow to import.
        if name not in ("_bits", "_legacy", "_memory", "words"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        bits = np.random.MT19937(0)
        # Only the legacy interface seeds the twister with the plain 32-bit recurrence; it shares the bit generator.
        self._legacy = np.random.RandomState(bits)
        self._legacy.seed(self._seed & _LOW_32_BITS)
        self._bits = bits
        # `words(n)` draws n 32-bit words as uint64, straight from the bit generator: the hot path of small draws.
        self.words = bits.random_raw
        self._memory = twister_memory(bits)
        self._started = True
        return object.__getattribute__(self, name)

    @property
    def device(self) -> device:
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream at `seed`; negative seeds count back from 2**64."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = seed.__index__()
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed & _LOW_64_BITS
        if self._started:
            self._legacy.seed(seed & _LOW_32_BITS)
        self.next_normal = None
        return self

    def seed(self) -> int:
        """Seed from the operating system's entropy, and return the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    def memory(self) -> Any:
        """The twister's words and position, for compiled code to draw from."""
        return self._memory

    def random_uint32(self, n: int) -> NDArray[np.uint32]:
        """Draw n 32-bit words."""
        return self.words(n).astype(np.uint32)

    def random_uint64(self, n: int) -> NDArray[np.uint64]:
        """Draw n 64-bit words, each made of two 32-bit draws, the first one in the high half."""
        words = self.words(2 * n)
        result: NDArray[np.uint64] = words[0::2] << np.uint64(32)
        result |= words[1::2]
        return result

    def get_state(self) -> NDArray[np.uint8]:
        """The state as 5056 bytes, in the layout that PyTorch's CPU generator reads and writes."""
        memory = self._memory
        words, position = memory[:TWISTER_WORDS], int(memory[TWISTER_WORDS])
        raw = np.zeros(STATE_LAYOUT.itemsize, np.uint8)
        state = raw.view(STATE_LAYOUT)
        state["seed"] = self._seed
        state["seeded"] = 1
        state["words"] = words
        if position < TWISTER_WORDS:
            state["next"], state["left"] = position, TWISTER_WORDS + 1 - position
        else:
            # An exhausted block and a freshly seeded one both wait for the twist; only `next` tells them apart.
            fresh = bool((words == self.seeded_words()).all())
            state["next"], state["left"] = (0 if fresh else TWISTER_WORDS), 1
        if self.next_normal is not None:
            state["normal_y"], state["normal_is_valid"] = self.next_normal, 1
        return raw

    def seeded_words(self) -> np.ndarray:
        """The words of the twister after seeding."""
        if self._seeded is None or self._seeded[0] != self._seed:
            made = np.random.RandomState(self._seed & _LOW_32_BITS).get_state(legacy=False)
            self._seeded = self._seed, made["state"]["key"]
        return self._seeded[1]

    def set_state(self, state: NDArray[np.uint8]) -> Generator:
        """Continue from a state that `get_state` returned."""
        raw = np.ascontiguousarray(state)
        if raw.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if raw.size != STATE_LAYOUT.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_LAYOUT.itemsize} "
                f"but found the input RNG state size to be {raw.size}"
            )
        fields = raw.reshape(-1).view(STATE_LAYOUT)[0]
        left, position = int(fields["left"]), int(fields["next"])
        if not (fields["seeded"] == 1 and 0 < left <= TWISTER_WORDS and position <= TWISTER_WORDS):
            raise RuntimeError("Invalid mt19937 state")
        self._seed = int(fields["seed"])
        self._memory[:TWISTER_WORDS] = fields["words"]
        self._memory[TWISTER_WORDS] = TWISTER_WORDS if left == 1 else position
        self.next_normal = float(fields["normal_y"]) if fields["normal_is_valid"] else None
        return self

    def clone_state(self) -> Generator:
        """A new generator that will draw what this one would draw next."""
        return Generator(self._device).set_state(self.get_state())

    def graphsafe_get_state(self) -> Generator:
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator) -> Generator:
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self) -> int:
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (str(self._device), self.get_state()))


def _restore(device: str, state: NDArray[np.uint8]) -> Generator:
    return Generator(device).set_state(state)


default_generator = Generator()
default_generator.seed()
