"""The binomial distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, Tensor
from retrograd.distributions import constraints
from retrograd.distributions._probs import ProbsOrLogits, exactly_one
from retrograd.distributions.distribution import checked
from retrograd.distributions.utils import broadcast_all

__all__ = ["Binomial"]


def _clamp_by_zero(x: Any) -> Any:
    """max(x, 0), with derivative 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ProbsOrLogits):
    """The number of successes among `total_count` independent trials.

    >>> Binomial(10, 0.5).mean
    tensor(5.)
    """

    total_count: Tensor
    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True
    _expands = ("total_count",)

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        exactly_one(probs, logits)
        total_count, either = broadcast_all(total_count, logits if probs is None else probs)
        self._take_either(validate_args, None if probs is None else either, None if logits is None else either,
                          total_count=total_count.type_as(either))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        # total_count * log(1 + exp(logits)), without overflow
        log_norm = (self.total_count * _clamp_by_zero(self.logits)
                    + self.total_count * torch.log1p(torch.exp(-torch.abs(self.logits))) - torch.lgamma(self.total_count + 1))
        return value * self.logits - torch.lgamma(value + 1) - torch.lgamma(self.total_count - value + 1) - log_norm

    def _common_count(self, method: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return count

    def entropy(self) -> Any:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        count = self._common_count("enumerate_support")
        return self._enumerated(torch.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)
