"""Distributions of the absolute value of something symmetric around 0."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import inf
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AbsTransform


class Half(TransformedDistribution):
    """The upper half of `whole`, a distribution with a scale that is symmetric around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, whole: Distribution, validate_args: bool | None) -> None:
        super().__init__(whole, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    @checked
    def log_prob(self, value: Any) -> Any:
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -inf)

    @checked
    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Any) -> Any:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
