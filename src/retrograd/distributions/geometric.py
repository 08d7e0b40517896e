"""The geometric distribution."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions._probs import ProbsOrLogits
from retrograd.distributions.distribution import checked
from retrograd.distributions.utils import broadcast_all
from retrograd.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """The number of failures before the first success, which has probability `probs`.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _expands = ()

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take_either(validate_args, probs, logits)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                             f"distribution {self!r} to be positive but found invalid values:\n"
                             f"{self.probs.detach()[~(self.probs > 0)]}")

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        with torch.no_grad():
            u = self.probs.new(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    @checked
    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
