"""Categorical distributions over one-hot vectors."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions._probs import OfCategorical
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.distribution import checked
from retrograd.nn.functional import one_hot

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategorical):
    """One-hot vectors with a 1 at index i with probability `probs[i]`.

    >>> OneHotCategorical(torch.tensor([1.0, 3.0])).mode
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _expands = ()

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._wrap(Categorical(probs, logits), validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: self._vectors(self.probs.argmax(-1)))

    def _vectors(self, index: Any) -> Any:
        return one_hot(index, self._categorical._num_events).to(self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        return self._vectors(self._categorical.sample(Size(sample_shape)))

    @checked
    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self._event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n,) + tuple(self._batch_shape) + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples whose gradient is that of `probs` (Bengio et al., 2013).

    >>> OneHotCategoricalStraightThrough(torch.tensor([0.0, 1.0])).rsample()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
