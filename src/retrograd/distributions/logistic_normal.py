"""The logistic normal distribution over probability vectors."""
from __future__ import annotations

from typing import Any

from retrograd.distributions import constraints
from retrograd.distributions.normal import Normal
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Probability vectors made by stick breaking of normal vectors.

    >>> import retrograd as torch
    >>> LogisticNormal(torch.zeros(2), torch.ones(2)).sample().shape
    torch.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _expands = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)
