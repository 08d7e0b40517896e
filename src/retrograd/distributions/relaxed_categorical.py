"""One-hot categorical distributions relaxed to the simplex, with gradients."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions._probs import OfCategorical
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.distribution import checked
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import ExpTransform
from retrograd.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical):
    """The logarithm of a `RelaxedOneHotCategorical`.

    >>> ExpRelaxedCategorical(torch.tensor(1.0), torch.tensor([0.5, 0.5])).rsample().shape
    torch.Size([2])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _expands = ()
    _keeps = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self.temperature = temperature
        self._wrap(Categorical(probs, logits), validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits + -((-u.log()).log())) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    @checked
    def log_prob(self, value: Any) -> Any:
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = torch.full_like(self.temperature, float(k)).lgamma() - self.temperature.log().mul(-(k - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A categorical distribution whose samples are probability vectors, closer to one-hot the lower the temperature.

    >>> RelaxedOneHotCategorical(torch.tensor(1.0), torch.tensor([0.5, 0.5])).rsample().shape
    torch.Size([2])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _expands = ()

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        inner = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(inner, ExpTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)
