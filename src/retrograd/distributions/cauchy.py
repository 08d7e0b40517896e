"""The Cauchy distribution."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import Size, Tensor, inf, nan
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Cauchy with median `loc` and half width at half maximum `scale`.

    >>> Cauchy(0.0, 1.0).log_prob(torch.zeros(()))
    tensor(-1.1447)
    """

    loc: Tensor
    scale: Tensor
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    mode = property(lambda self: self.loc)
    mean = property(lambda self: self.loc.new_full(self._extended_shape(), nan))
    variance = property(lambda self: self.loc.new_full(self._extended_shape(), inf))

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        return self.loc + self.loc.new(self._extended_shape(sample_shape)).cauchy_() * self.scale

    @checked
    def log_prob(self, value: Any) -> Any:
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    @checked
    def cdf(self, value: Any) -> Any:
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()
