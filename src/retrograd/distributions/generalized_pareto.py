"""The generalised Pareto distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor, inf, nan
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The tail of another distribution above `loc`: heavy for positive, bounded for negative `concentration`.

    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    loc: Tensor
    scale: Tensor
    concentration: Tensor
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _expands = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        high = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, inf)
        return constraints.interval(self.loc, high)

    def _exponential_or(self) -> tuple[Any, Any]:
        """Where the concentration is 0 and the tail exponential, and concentrations that can be divided by."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    @checked
    def log_prob(self, value: Any) -> Any:
        zero, safe = self._exponential_or()
        z = (value - self.loc) / self.scale
        power = 1 / safe + torch.ones_like(z)
        return -self.scale.log() - torch.where(zero, z, torch.where(power == 0, power, power * torch.log1p(safe * z)))

    @checked
    def log_survival_function(self, value: Any) -> Any:
        """The log of the probability of a sample above `value`."""
        zero, safe = self._exponential_or()
        z = (value - self.loc) / self.scale
        return torch.where(zero, -z, -torch.log1p(safe * z) / safe)

    def log_cdf(self, value: Any) -> Any:
        """The log of `cdf`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        zero, safe = self._exponential_or()
        log_rest = torch.log1p(-value)
        return torch.where(zero, self.loc - self.scale * log_rest,
                           self.loc + self.scale / safe * torch.expm1(-safe * log_rest))

    @property
    def mean(self) -> Any:
        finite = self.concentration < 1
        return torch.where(finite, self.loc + self.scale / (1 - torch.where(finite, self.concentration, 0.5)), nan)

    @property
    def variance(self) -> Any:
        finite = self.concentration < 0.5
        c = torch.where(finite, self.concentration, 0.25)
        return torch.where(finite, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), nan)

    mode = property(lambda self: self.loc)

    def entropy(self) -> Any:
        return (self.scale.log() + self.concentration + 1).broadcast_to(self._batch_shape)
