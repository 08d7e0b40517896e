"""The generators that users see: their states are tensors; and the functions that seed the default one."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import generator
from retrograd.core.api import EXTRA_FUNCTIONS, expose
from retrograd.core.device import CPU
from retrograd.core.tensor import Tensor, wrap


class Generator(generator.Generator):
    """A source of random numbers that draws the same stream as PyTorch's CPU generator for the same seed."""

    __slots__ = ()

    def get_state(self) -> Any:
        """The state as a tensor of bytes."""
        return wrap(generator.Generator.get_state(self))

    def set_state(self, new_state: Any) -> Any:
        """Continue from a state that `get_state` returned."""
        if isinstance(new_state, Tensor):
            new_state = new_state.array
        elif not isinstance(new_state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        generator.Generator.set_state(self, new_state)
        return self

    def clone_state(self) -> Any:
        """A new generator that will draw what this one would draw next."""
        return Generator(self._device).set_state(self.get_state())

    def __setstate__(self, state: Any) -> None:
        """Called for files of `torch.save`: the state is a seed, an offset, and all of it as bytes."""
        if not isinstance(state, tuple) or len(state) != 3:
            raise TypeError("the state of a generator must be a seed, an offset and a tensor of bytes")
        self.set_state(state[2])

    def __reduce__(self) -> Any:
        return (restore, (str(self._device), generator.Generator.get_state(self)))


def restore(device: str, state: Any) -> Generator:
    return Generator(device).set_state(state)


Generator.__module__ = "torch._C"
default_generator = Generator()
default_generator.seed()


@expose(seen=False)
def manual_seed(seed: Any) -> Any:
    """Seed the default generator; returns it."""
    return default_generator.manual_seed(int(seed))


@expose(seen=False)
def seed() -> int:
    """Seed the default generator from the operating system's entropy; returns the seed."""
    return default_generator.seed()


@expose(seen=False)
def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


@expose(seen=False)
def get_rng_state() -> Any:
    """The state of the default generator as a tensor of bytes."""
    return default_generator.get_state()


@expose(seen=False)
def set_rng_state(new_state: Any) -> None:
    """Let the default generator continue from a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


def device_of(gen: Any) -> Any:
    return CPU if gen is None else gen.device


EXTRA_FUNCTIONS.update(Generator=Generator, default_generator=default_generator)
