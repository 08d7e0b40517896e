"""The half-Cauchy distribution."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import inf
from retrograd.distributions import constraints
from retrograd.distributions.cauchy import Cauchy
from retrograd.distributions.distribution import checked
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy value around 0.

    >>> HalfCauchy(1.0).icdf(torch.tensor(0.5))
    tensor(1.)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expands = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: self.scale.new_full(self._extended_shape(), inf))
    mode = property(lambda self: torch.zeros_like(self.scale))
    variance = property(lambda self: self.base_dist.variance)

    def log_prob(self, value: Any) -> Any:
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        if self._validate_args:
            self._validate_sample(value)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -inf)

    @checked
    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Any) -> Any:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
