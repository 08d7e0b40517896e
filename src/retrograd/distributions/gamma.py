"""The gamma distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import checked
from retrograd.distributions.exp_family import ExponentialFamily

__all__ = ["Gamma"]


def _standard_gamma(concentration: Any) -> Any:
    return torch._standard_gamma(concentration)


class Gamma(ExponentialFamily):
    """Gamma with shape `concentration` and `rate`.

    >>> Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    concentration: Tensor
    rate: Tensor
    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _expands: tuple[str, ...] = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)     # no gradient is lost where it is clamped
        return value

    def log_prob(self, value: Any) -> Any:
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (torch.xlogy(self.concentration, self.rate) + torch.xlogy(self.concentration - 1, value) - self.rate * value
                - torch.lgamma(self.concentration))

    @checked
    def cdf(self, value: Any) -> Any:
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        return (self.concentration - self.rate.log() + torch.lgamma(self.concentration)
                + (1.0 - self.concentration) * torch.digamma(self.concentration))

    @property
    def _natural_params(self) -> Any:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:      # type: ignore[override]
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())
