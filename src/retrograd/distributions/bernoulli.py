"""The Bernoulli distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, nan
from retrograd.distributions import constraints
from retrograd.distributions._probs import ProbsOrLogits
from retrograd.distributions.distribution import checked
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.utils import broadcast_all
from retrograd.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability `probs`, 0 otherwise.

    >>> Bernoulli(0.25).variance
    tensor(0.1875)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _expands = ()

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take_either(validate_args, probs, logits)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = nan
        return mode

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(torch.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self) -> Any:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:      # type: ignore[override]
        return torch.log1p(torch.exp(x))
