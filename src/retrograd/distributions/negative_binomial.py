"""The negative binomial distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor
from retrograd.distributions import constraints
from retrograd.distributions._probs import ProbsOrLogits, exactly_one
from retrograd.distributions.distribution import checked
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.utils import broadcast_all, lazy_property
from retrograd.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """The number of successes, each with probability `probs`, before `total_count` failures.

    >>> NegativeBinomial(2.0, torch.tensor(0.5)).mean
    tensor(2.)
    """

    total_count: Tensor
    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    _expands = ("total_count",)

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        exactly_one(probs, logits)
        total_count, either = broadcast_all(total_count, logits if probs is None else probs)
        self._take_either(validate_args, None if probs is None else either, None if logits is None else either,
                          total_count=total_count.type_as(either))

    mean = property(lambda self: self.total_count * torch.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    @lazy_property
    def _gamma(self) -> Any:
        # probabilities of 1, which validation forbids, would make a rate of 0
        return Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        log_weight = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        log_norm = -torch.lgamma(self.total_count + value) + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        return log_weight - log_norm.masked_fill(self.total_count + value == 0.0, 0.0)
