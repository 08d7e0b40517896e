"""Student's t distribution."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import Size, Tensor, inf, nan
from retrograd.distributions import constraints
from retrograd.distributions.chi2 import Chi2
from retrograd.distributions.distribution import Distribution, checked
from retrograd.distributions.utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal value divided by the root of an independent chi-squared value over its degrees of freedom `df`.

    >>> StudentT(4.0).variance
    tensor(2.)
    """

    df: Tensor
    loc: Tensor
    scale: Tensor
    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("df", "loc", "scale", "_chi2")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        df, loc, scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(df)
        self._take(validate_args, df=df, loc=loc, scale=scale)

    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        finite = self.df > 2
        df = torch.where(finite, self.df, 3.0)
        variance = torch.where(finite, self.scale.pow(2) * df / (df - 2), inf)
        return variance.masked_fill(self.df <= 1, nan)

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        noise = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * (noise * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    @checked
    def log_prob(self, value: Any) -> Any:
        y = (value - self.loc) / self.scale
        log_norm = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * self.df)
                    - torch.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - log_norm

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(more)
        return self.scale.log() + more * (torch.digamma(more) - torch.digamma(half)) + 0.5 * self.df.log() + log_beta
