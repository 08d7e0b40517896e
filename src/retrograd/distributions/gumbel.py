"""The Gumbel distribution."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd.distributions import constraints
from retrograd.distributions.distribution import checked
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AffineTransform, ExpTransform
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The limit of the largest of many samples.

    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, limits.tiny), torch.full_like(self.loc, 1 - limits.eps),
                       validate_args=validate_args)
        # loc - scale * log(-log(u))
        super().__init__(base, [ExpTransform().inv, AffineTransform(0, -torch.ones_like(self.scale)), ExpTransform().inv,
                                AffineTransform(loc, -self.scale)], validate_args=validate_args)

    @checked
    def log_prob(self, value: Any) -> Any:
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)
