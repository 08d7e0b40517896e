"""The Poisson distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import checked
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The number of independent events that happen with `rate`.

    >>> Poisson(4.0).stddev
    tensor(2.)
    """

    rate: Tensor
    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _expands = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    mean = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    variance = property(lambda self: self.rate)

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.poisson(self.rate.expand(shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> Any:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Any) -> Any:      # type: ignore[override]
        return torch.exp(x)
