"""Random generators and random arrays: the one place to import from to draw what PyTorch's CPU generator draws.

All functions return C-contiguous arrays filled in memory order. A caller that fills a tensor with permuted axes must
draw in the order of that tensor's memory, and pass `contiguous=False` to `normal` if that order is not the logical one
or if the memory has gaps.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograd.core.rng.continuous import cauchy, exponential, log_normal, normal, uniform
from retrograd.core.rng.discrete import bernoulli, dropout_mask, geometric, randint, random_from, random_full
from retrograd.core.rng.mersenne import Generator, default_generator
from retrograd.core.rng.sampling import multinomial, poisson, randperm

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import NDArray

__all__ = [
    "Generator", "bernoulli", "cauchy", "default_generator", "dropout_mask", "exponential", "geometric", "log_normal",
    "multinomial", "normal", "poisson", "randint", "random_from", "random_full", "random_uint32", "random_uint64",
    "randperm", "uniform",
]  # fmt: skip


def random_uint32(gen: Generator, n: int) -> NDArray[np.uint32]:
    """n words of 32 random bits."""
    return gen.random_uint32(n)


def random_uint64(gen: Generator, n: int) -> NDArray[np.uint64]:
    """n words of 64 random bits."""
    return gen.random_uint64(n)
