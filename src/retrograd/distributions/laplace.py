"""The Laplace distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Laplace around `loc`, falling off exponentially on both sides with `scale`.

    >>> Laplace(0.0, 1.0).log_prob(torch.zeros(()))
    tensor(-0.6931)
    """

    loc: Tensor
    scale: Tensor
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        u = self.loc.new(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    @checked
    def log_prob(self, value: Any) -> Any:
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    @checked
    def cdf(self, value: Any) -> Any:
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * torch.expm1(-away.abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        away = value - 0.5
        return self.loc - self.scale * away.sign() * torch.log1p(-2 * away.abs())

    def entropy(self) -> Any:
        return 1 + torch.log(2 * self.scale)
