"""Fisher and Snedecor's F distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor, nan
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared values, each divided by its degrees of freedom.

    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    df1: Tensor
    df2: Tensor
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _expands = ("df1", "df2", "_gamma1", "_gamma2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        df1, df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(df1 * 0.5, df1), Gamma(df2 * 0.5, df2)
        self._take(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Any:
        df2 = self.df2.masked_fill(self.df2 <= 2, nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Any:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, nan)

    @property
    def variance(self) -> Any:
        df2 = self.df2.masked_fill(self.df2 <= 4, nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape)
        tiny = torch.finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    @checked
    def log_prob(self, value: Any) -> Any:
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        log_norm = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        return (log_norm + (half1 * ratio.log() + (half1 - 1) * torch.log(value))
                - (half1 + half2) * torch.log1p(ratio * value))
