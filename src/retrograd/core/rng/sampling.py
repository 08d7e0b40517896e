"""Samples that are drawn one after the other: permutations, indices by weight, and Poisson counts."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.core.algorithms import native
from retrograd.core.rng.continuous import exponential
from retrograd.core.rng.mersenne import Generator
from retrograd.core.rng.unit import unit_float64

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import DTypeLike, NDArray

    Array = NDArray[Any]

_FEW_ENOUGH_FOR_32_BITS = (2**32 - 1) // 20  # beyond it the remainder of a 32-bit word would be visibly biased
_RUN = 256
_LIST_LENGTH = 20_000


def randperm(gen: Generator, n: int, npdtype: DTypeLike = np.int64) -> Array:
    """A permutation of 0..n-1 by Fisher and Yates' forward shuffle, which costs n - 1 draws."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    made = np.empty(n, np.int64)
    if native is not None and native.random_permutation(gen.memory(), made) is not None:
        return made.astype(npdtype, copy=False)
    steps = max(n - 1, 0)
    words = gen.words(steps) if n < _FEW_ENOUGH_FOR_32_BITS else gen.random_uint64(steps)
    here = np.arange(steps, dtype=np.uint64)
    targets = words % (np.uint64(n) - here)
    targets += here
    order = np.arange(n)
    _swap_in_turn(order, targets.view(np.int64))
    return order.astype(npdtype, copy=False)


def _swap_in_turn(order: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
    """For each i in turn, swap order[i] with order[targets[i]], where targets[i] >= i.

    Runs of swaps that touch each position once commute, and go at array speed. Far from the end nearly all short runs
    are such; near the end, and for the others, Python's lists are the fastest way to swap one pair at a time.
    """
    steps = len(targets)
    start = 0
    marks = np.empty(len(order) if steps > _LIST_LENGTH else 0, np.int64)
    numbers = np.arange(_RUN)
    while steps - start > _LIST_LENGTH:
        stop = start + _RUN
        there = targets[start:stop]
        marks[there] = numbers
        if there.min() >= stop and np.array_equal(marks[there], numbers):
            moved = order[there]
            order[there] = order[start:stop]
            order[start:stop] = moved
        else:
            for i, j in enumerate(there.tolist(), start):
                held = order[i]
                order[i] = order[j]
                order[j] = held
        start = stop
    items = order[start:].tolist()
    for i, j in enumerate((targets[start:] - start).tolist()):
        items[i], items[j] = items[j], items[i]
    order[start:] = items


def multinomial(gen: Generator, probs: Array, num_samples: int, replacement: bool = False) -> NDArray[np.int64]:
    """Indices drawn with the weights in each row of `probs`: `multinomial`."""
    if probs.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > probs.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    rows = np.ascontiguousarray(probs.reshape(-1, probs.shape[-1]))
    if replacement and num_samples > 1:
        result = _with_replacement(gen, rows, num_samples)
    else:
        result = _without_replacement(gen, rows, num_samples)
    return result.reshape(*probs.shape[:-1], num_samples)


def _without_replacement(gen: Generator, rows: Array, num_samples: int) -> NDArray[np.int64]:
    """The indices of the largest ratios of weight to exponential noise, in descending order."""
    wide = rows.astype(np.float64)
    if not bool((np.isfinite(wide) & (wide >= 0)).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if bool((wide.sum(-1) <= 0).any()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    noise = exponential(gen, rows.shape, 1.0, rows.dtype)
    ratio = rows / noise
    if num_samples == 1:
        first: NDArray[np.int64] = ratio.argmax(-1, keepdims=True)
        return first
    np.negative(ratio, out=ratio)
    if num_samples > rows.shape[-1] // 8:
        return np.argsort(ratio, axis=-1, kind="stable")[:, :num_samples]
    # Few of many: find them first, then put only those in order.
    winners = np.sort(np.argpartition(ratio, num_samples, axis=-1)[:, :num_samples], axis=-1)
    ranks = np.argsort(np.take_along_axis(ratio, winners, -1), axis=-1, kind="stable")
    return np.take_along_axis(winners, ranks, -1)


def _with_replacement(gen: Generator, rows: Array, num_samples: int) -> NDArray[np.int64]:
    """Look up uniform draws in the running sums of the weights."""
    edges = native.shares(rows if rows.dtype.itemsize > 2 else rows.astype(np.float32)) if native is not None else None
    if edges is not None:
        draws = unit_float64(gen, len(rows) * num_samples).reshape(len(rows), num_samples)
        result = np.empty(draws.shape, np.int64)
        native.search_rows(edges, draws, result, False)
        return result
    if not bool(np.isfinite(rows.astype(np.float64)).all()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    if bool((rows < 0).any()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    accumulator = np.float32 if rows.dtype.itemsize == 2 else rows.dtype
    sums = np.cumsum(rows, axis=-1, dtype=accumulator)
    totals = sums[:, -1:].copy()
    if bool((totals <= 0).any()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    sums /= totals
    draws = unit_float64(gen, len(rows) * num_samples).reshape(len(rows), num_samples)
    result = np.empty(draws.shape, np.int64)
    sums[:, -1] = 1  # rounding must not let a draw fall off the end
    for row, (edges, chances) in enumerate(zip(sums, draws, strict=True)):
        result[row] = np.searchsorted(edges.astype(np.float64), chances, side="left")
    return result


def poisson(gen: Generator, rates: Array) -> Array:
    """Poisson counts with the given rates, in their type: `poisson`."""
    if not bool((rates >= 0).all()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if native is not None:
        drawn = np.array(rates, np.float64, order="C")
        native.random_poisson(gen.memory(), drawn)
        return drawn.astype(rates.dtype)
    source = Rewindable(gen, expected=4 * rates.size + 16)
    counts = [_poisson_count(float(rate), source) for rate in rates.ravel().tolist()]
    source.close()
    return np.array(counts, np.float64).astype(rates.dtype).reshape(rates.shape)


class Rewindable:
    """Uniform draws read ahead in bulk; closing it rewinds the generator to just after the last one used."""

    def __init__(self, gen: Generator, expected: int) -> None:
        self._gen = gen
        self._start = gen.get_state()
        self._expected = expected
        self._values = iter(unit_float64(gen, expected).tolist())
        self._used = 0

    def __call__(self) -> float:
        self._used += 1
        for value in self._values:
            return float(value)
        self._values = iter(unit_float64(self._gen, self._expected).tolist())
        return float(next(self._values))

    def close(self) -> None:
        self._gen.set_state(self._start)
        self._gen.words(2 * self._used)


def _poisson_count(rate: float, draw: Rewindable) -> int:
    if rate == 0:
        return 0
    if rate >= 10:
        return _poisson_by_rejection(rate, draw)
    # Few events: multiply uniform draws until the product falls to exp(-rate).
    limit, product, count = math.exp(-rate), draw(), 0
    while product > limit:
        count += 1
        product *= draw()
    return count


def _poisson_by_rejection(rate: float, draw: Rewindable) -> int:
    """Hoermann's transformed rejection (1993), whose cost does not grow with the rate."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    quick_accept = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = draw() - 0.5
        v = draw()
        side = 0.5 - abs(u)
        count = math.floor((2 * a / side + b) * u + rate + 0.43) if side else -1
        if side >= 0.07 and v <= quick_accept:
            return count
        if count < 0 or (side < 0.013 and v > side):
            continue
        if math.log(v) + log_inverse_alpha - math.log(a / (side * side) + b) <= (
            count * log_rate - rate - math.lgamma(count + 1.0)
        ):
            return count
