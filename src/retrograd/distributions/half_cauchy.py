"""The half-Cauchy distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import inf
from retrograd.distributions._half import Half
from retrograd.distributions.cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute value of a Cauchy value around 0.

    >>> HalfCauchy(1.0).log_prob(torch.zeros(()))
    tensor(-0.4516)
    """

    _expands = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale.new_full(self._extended_shape(), inf))
    variance = property(lambda self: self.base_dist.variance)

    def log_prob(self, value: Any) -> Any:
        return super().log_prob(torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
