"""The Kumaraswamy distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import nan
from retrograd.distributions import constraints
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AffineTransform, PowerTransform
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Much like a beta distribution, with a closed form for its quantiles.

    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _expands = ("concentration1", "concentration0")

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(torch.full_like(self.concentration0, 0), torch.full_like(self.concentration0, 1),
                       validate_args=validate_args)
        super().__init__(base, [PowerTransform(self.concentration0.reciprocal()), AffineTransform(1.0, -1.0),
                                PowerTransform(self.concentration1.reciprocal())], validate_args=validate_args)

    def _moment(self, n: int) -> Any:
        """The mean of the n-th power."""
        a = 1 + n / self.concentration1
        b = self.concentration0
        return b * torch.exp(torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b))

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self.mean**2)

    @property
    def mode(self) -> Any:
        log_mode = (self.concentration0.reciprocal() * (-self.concentration0).log1p()
                    - (-self.concentration0 * self.concentration1).log1p())
        return log_mode.masked_fill((self.concentration0 < 1) | (self.concentration1 < 1), nan).exp()

    def entropy(self) -> Any:
        harmonic = torch.digamma(self.concentration0 + 1) + euler_constant
        return ((1 - self.concentration0.reciprocal()) + (1 - self.concentration1.reciprocal()) * harmonic
                - torch.log(self.concentration1) - torch.log(self.concentration0))
