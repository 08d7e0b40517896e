"""The multinomial distribution over vectors of counts."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, inf
from retrograd.distributions import constraints
from retrograd.distributions._probs import OfCategorical
from retrograd.distributions.binomial import Binomial
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.distribution import checked
from retrograd.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategorical):
    """How often each category comes up among `total_count` draws.

    >>> Multinomial(8, torch.tensor([1.0, 3.0])).mean
    tensor([2., 6.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _expands = ()
    _keeps = ("total_count",)

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._wrap(Categorical(probs=probs, logits=logits), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Any:
        n = torch.tensor(self.total_count)
        marginal = Binomial(self.total_count, probs=self.probs)
        counts = marginal.enumerate_support(expand=False)[1:]
        expected = (torch.exp(marginal.log_prob(counts)) * torch.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + expected

    @checked
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -inf), 0)
        return (torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)) + (logits * value).sum(-1)
