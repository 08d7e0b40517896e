"""`ExponentialFamily`: distributions with natural parameters, whose entropy is a gradient of the log normaliser."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities of the form exp(t(x) . natural parameters - log normaliser + carrier(x)).

    >>> isinstance(torch.distributions.Normal(0.0, 1.0), ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        """By a Bregman divergence: the log normaliser minus its gradient times the natural parameters."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        gradients = torch.autograd.grad(normalizer.sum(), parameters, create_graph=True)
        result = -self._mean_carrier_measure + normalizer
        for p, g in zip(parameters, gradients):
            result = result - (p * g).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
