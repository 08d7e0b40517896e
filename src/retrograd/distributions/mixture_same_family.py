"""Mixtures whose components differ only in their parameters."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.distribution import Distribution, checked

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Components along the last batch dimension of one distribution, chosen by a `Categorical`.

    >>> D = torch.distributions
    >>> MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([0.0, 4.0]), 1.0)).mean
    tensor(2.)
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False
    _expands = ("_mixture_distribution", "_component_distribution")
    _keeps = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for m, b in zip(reversed(mixed), reversed(batch)):
            if m != 1 and b != 1 and m != b:
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                                 f"`component_distribution.batch_shape`({batch})")
        self._num_component = mixture_distribution.logits.shape[-1]
        if self._num_component != component_distribution.batch_shape[-1]:
            raise ValueError(f"`mixture_distribution component` ({self._num_component}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({component_distribution.batch_shape[-1]})")
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def _average(self, values: Any) -> Any:
        """The mean over the components of something per event."""
        probs = self.mixture_distribution.probs
        more = len(self._batch_shape) - len(self.mixture_distribution.batch_shape)
        if len(self.mixture_distribution.batch_shape) == 1:
            more = 0
        probs = probs.reshape(tuple(probs.shape[:-1]) + (1,) * more + tuple(probs.shape[-1:]) + (1,) * self._event_ndims)
        return torch.sum(probs * values, dim=-1 - self._event_ndims)

    mean = property(lambda self: self._average(self.component_distribution.mean))

    @property
    def variance(self) -> Any:
        """The mean of the variances plus the variance of the means."""
        apart = (self.component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return self._average(self.component_distribution.variance) + self._average(apart)

    def cdf(self, x: Any) -> Any:
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    @checked
    def log_prob(self, x: Any) -> Any:
        each = self.component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(each + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        with torch.no_grad():
            along = len(sample_shape) + len(self._batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            chosen = chosen.reshape(tuple(chosen.shape) + (1,) * (self._event_ndims + 1))
            chosen = chosen.expand(tuple(chosen.shape[:along + 1]) + tuple(self._event_shape))
            return torch.gather(drawn, along, chosen).squeeze(along)

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
