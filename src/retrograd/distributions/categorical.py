"""The categorical distribution over the indices of a vector."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size, nan
from retrograd.distributions import constraints
from retrograd.distributions._probs import ProbsOrLogits, exactly_one
from retrograd.distributions.distribution import checked

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits):
    """Indices with probabilities proportional to `probs`, or to the exponentials of `logits`.

    >>> Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _expands = ()
    _keeps = ("_num_events",)
    _is_binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        exactly_one(probs, logits)
        self._given = "logits" if probs is None else "probs"
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f"`{self._given}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = given - given.logsumexp(-1, keepdim=True)
        else:
            self.probs = given / given.sum(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    mean = property(lambda self: self.probs.new_full(self._extended_shape(), nan))
    variance = property(lambda self: self.probs.new_full(self._extended_shape(), nan))
    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        sample_shape = Size(sample_shape)
        drawn = torch.multinomial(self.probs.reshape(-1, self._num_events), sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        index, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(torch.arange(self._num_events, dtype=torch.long, device=self._param.device), expand)
