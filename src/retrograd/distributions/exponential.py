"""The exponential distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import checked
from retrograd.distributions.exp_family import ExponentialFamily

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """Waiting times between events that happen with `rate`.

    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    rate: Tensor
    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        return self.rate.new(self._extended_shape(sample_shape)).exponential_() / self.rate

    @checked
    def log_prob(self, value: Any) -> Any:
        return self.rate.log() - self.rate * value

    @checked
    def cdf(self, value: Any) -> Any:
        return 1 - torch.exp(-self.rate * value)

    def icdf(self, value: Any) -> Any:
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> Any:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:      # type: ignore[override]
        return -torch.log(-x)
