"""The continuous Bernoulli distribution."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions._probs import ProbsOrLogits, exactly_one
from retrograd.distributions.distribution import checked
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from retrograd.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Density proportional to probs**x (1 - probs)**(1 - x) on [0, 1] (Loaiza-Ganem and Cunningham, 2019).

    Between the limits `lims`, around 1/2, closed forms lose their digits and Taylor series stand in for them.

    >>> ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ()
    _keeps = ("_lims",)

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:
        exactly_one(probs, logits)
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if validate_args is not None and not self.arg_constraints["probs"].check(probs).all():
                raise ValueError("The parameter probs has invalid values")
            probs = clamp_probs(probs)
        self._lims = lims
        self._take_either(validate_args, probs, logits)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Any:
        """The probabilities, moved out of the unstable region."""
        return torch.where(self._outside_unstable_region(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _stable(self, closed_form: Any, taylor: Any) -> Any:
        return torch.where(self._outside_unstable_region(), closed_form, taylor)

    def _cont_bern_log_norm(self) -> Any:
        """The log of the normalising constant 2 artanh(1 - 2 probs) / (1 - 2 probs)."""
        cut = self._cut_probs()
        below = torch.where(cut <= 0.5, cut, torch.zeros_like(cut))
        above = torch.where(cut >= 0.5, cut, torch.ones_like(cut))
        odds = torch.log(torch.abs(torch.log1p(-cut) - torch.log(cut)))
        closed_form = odds - torch.where(cut <= 0.5, torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0))
        x = (self.probs - 0.5) ** 2
        return self._stable(closed_form, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        cut = self._cut_probs()
        x = self.probs - 0.5
        return self._stable(cut / (2.0 * cut - 1.0) + 1.0 / (torch.log1p(-cut) - torch.log(cut)),
                            0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self) -> Any:
        cut = self._cut_probs()
        x = (self.probs - 0.5) ** 2
        return self._stable(cut * (cut - 1.0) / (1.0 - 2.0 * cut) ** 2 + 1.0 / (torch.log1p(-cut) - torch.log(cut)) ** 2,
                            1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    @checked
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    @checked
    def cdf(self, value: Any) -> Any:
        cut = self._cut_probs()
        inside = self._stable((cut**value * (1.0 - cut) ** (1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0), value)
        return torch.where(value <= 0.0, torch.zeros_like(value), torch.where(value >= 1.0, torch.ones_like(value), inside))

    def icdf(self, value: Any) -> Any:
        cut = self._cut_probs()
        closed_form = (torch.log1p(-cut + value * (2.0 * cut - 1.0)) - torch.log1p(-cut)) / (torch.log(cut) - torch.log1p(-cut))
        return self._stable(closed_form, value)

    def entropy(self) -> Any:
        log_tails, log_heads = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (log_tails - log_heads) - self._cont_bern_log_norm() - log_tails

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:      # type: ignore[override]
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = torch.where(outside, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        closed_form = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(outside, closed_form, 0.5 * x + x**2 / 24.0 - x**4 / 2880.0)
