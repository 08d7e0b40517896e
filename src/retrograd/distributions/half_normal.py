"""The half-normal distribution."""
from __future__ import annotations

import math
from typing import Any

from retrograd.distributions._half import Half
from retrograd.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The absolute value of a normal value around 0.

    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _expands = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))
