"""The uniform distribution on an interval."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor, nan
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Uniform on [low, high).

    >>> Uniform(0.0, 2.0).mean
    tensor(1.)
    """

    has_rsample = True
    low: Tensor
    high: Tensor
    _expands = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        u = torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    @checked
    def log_prob(self, value: Any) -> Any:
        inside = (self.low <= value) & (self.high > value)
        return inside.type_as(self.low).log() - torch.log(self.high - self.low)

    @checked
    def cdf(self, value: Any) -> Any:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return torch.log(self.high - self.low)
