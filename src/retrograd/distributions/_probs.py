"""What distributions share that are given either probabilities or logits."""
from __future__ import annotations

from typing import Any

from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import lazy_property, logits_to_probs, probs_to_logits


def exactly_one(probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class ProbsOrLogits(Distribution):
    """Keeps one of `probs` and `logits` and derives the other when it is asked for."""

    _expands: tuple[str, ...] = ("probs", "logits")
    _keeps = ("_given",)
    _is_binary = True

    def _take_either(self, validate_args: bool | None, probs: Any, logits: Any, **others: Any) -> None:
        """Keep what is given, broadcast against the other parameters."""
        exactly_one(probs, logits)
        self._given = "logits" if probs is None else "probs"
        self._take(validate_args, **others, **{self._given: logits if probs is None else probs})

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self) -> Any:
        """The parameter that was given."""
        return getattr(self, self._given)

    @property
    def param_shape(self) -> Any:
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)


class OfCategorical(Distribution):
    """Wraps a `Categorical`, whose categories become the event."""

    _expands: tuple[str, ...] = ("_categorical",)

    def _wrap(self, categorical: Any, validate_args: bool | None) -> None:
        self._categorical = categorical
        Distribution.__init__(self, categorical.batch_shape, categorical.param_shape[-1:], validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    _param = property(lambda self: self._categorical._param)
    param_shape = property(lambda self: self._categorical.param_shape)

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)
