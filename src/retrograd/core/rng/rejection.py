"""Gamma, Dirichlet and binomial samples, which are drawn one after the other by rejection."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.core.algorithms import native
from retrograd.core.rng.mersenne import Generator
from retrograd.core.rng.sampling import Rewindable

if TYPE_CHECKING:      # numpy.typing takes long to import
    from numpy.typing import NDArray

    Array = NDArray[Any]

# Constants that the kernels hold in single precision.
_THIRD = float(np.float32(1.0) / np.float32(3.0))
_SQUEEZE = float(np.float32(0.0331))


class _NormalSource(Rewindable):
    """Also standard normal draws, in pairs whose second half may wait in the generator."""

    def __init__(self, gen: Generator, expected: int) -> None:
        super().__init__(gen, expected)
        self._next_normal = gen.next_normal

    def normal(self) -> float:
        value = self._next_normal
        if value is not None:
            self._next_normal = None
            return value
        turn, chance = self(), self()
        radius, angle = math.sqrt(-2.0 * math.log1p(-chance)), 2.0 * math.pi * turn
        self._next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    def close(self) -> None:
        super().close()
        self._gen.next_normal = self._next_normal


def standard_gamma(gen: Generator, concentration: Array) -> NDArray[np.float64]:
    """Gamma values with rate 1, in double precision; the caller rounds them."""
    # The kernel adds to and divides by the concentration in the tensor's own precision.
    one, third = concentration.dtype.type(1), concentration.dtype.type(_THIRD)
    raised = np.where(concentration < 1, concentration + one, concentration)
    inverses = one / concentration
    columns = [np.ascontiguousarray(a, np.float64).reshape(-1) for a in (concentration, inverses, raised - third)]
    if native is not None:
        made = np.empty(concentration.shape, np.float64)
        gen.next_normal = native.random_gamma(gen.memory(), made, *columns, gen.next_normal)
        return made
    source = _NormalSource(gen, expected=4 * concentration.size + 16)
    values = [_gamma(alpha, inverse, d, source) for alpha, inverse, d in zip(*[c.tolist() for c in columns], strict=True)]
    source.close()
    return np.array(values, np.float64).reshape(concentration.shape)


def _gamma(alpha: float, inverse: float, d: float, source: _NormalSource) -> float:
    """Marsaglia and Tsang's method (2000); below 1 by the value of alpha + 1 times a power of a uniform one."""
    scale = 1.0
    if alpha < 1.0:
        if alpha == 0.0:
            return 0.0
        scale = math.pow(1.0 - source(), inverse)
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = source.normal()
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1.0 - source()
        xx = x * x
        if u < 1.0 - _SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


def binomial(gen: Generator, count: Array, prob: Array) -> Array:
    """The number of successes among `count` trials: `binomial`. Both arrays have the same shape and dtype."""
    source = Rewindable(gen, expected=4 * count.size + 16)
    # The rarer of success and failure is counted; the comparison uses the tensor's own precision.
    rarer = np.where(prob > 0.5, 1 - prob, prob)
    many = count * rarer >= 10
    columns: list[list[Any]] = [array.ravel().tolist() for array in (count, prob, rarer, many)]
    values = [_successes(n, p, q, much, source) for n, p, q, much in zip(*columns, strict=True)]
    source.close()
    return np.array(values, np.float64).astype(count.dtype).reshape(count.shape)


def _successes(count: float, prob: float, rarer: float, many: bool, draw: Rewindable) -> float:
    if count <= 0.0 or prob <= 0.0:
        return 0.0
    if prob >= 1.0:
        return count
    if math.isnan(prob):
        return math.nan
    drawn = (_binomial_by_rejection if many else _binomial_by_waiting)(count, rarer, draw)
    return count - drawn if prob > 0.5 else drawn


def _binomial_by_waiting(count: float, prob: float, draw: Rewindable) -> float:
    """Few successes: add up the waiting times between them."""
    log_fail = math.log1p(-prob)
    trials, successes = 0.0, 0.0
    while True:
        u = draw()
        trials += math.ceil(math.log(u) / log_fail) if u > 0 else math.inf
        if trials > count:
            return successes
        successes += 1.0


def _binomial_by_rejection(count: float, prob: float, draw: Rewindable) -> float:
    """Hoermann's BTRS (1993): transformed rejection with squeeze."""
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    center = count * prob + 0.5
    quick_accept = 0.92 - 4.2 / b
    odds = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + 1) * prob)
    while True:
        u = draw() - 0.5
        v = draw()
        side = 0.5 - abs(u)
        k = math.floor((2 * a / side + b) * u + center) if side else -1
        if side >= 0.07 and v <= quick_accept:
            return k
        if k < 0 or k > count or v <= 0:
            continue
        bound = ((mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
                 + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
                 + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
                 + _stirling_tail(mode) + _stirling_tail(count - mode) - _stirling_tail(k) - _stirling_tail(count - k))
        if math.log(v * alpha / (a / (side * side) + b)) <= bound:
            return k


def _stirling_tail(k: float) -> float:
    """log(k!) minus Stirling's approximation of it."""
    if k <= 9:
        return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
