"""The LKJ distribution over Cholesky factors of correlation matrices."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions.beta import Beta
from retrograd.distributions.distribution import Distribution, checked
from retrograd.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors L with density proportional to det(L L')**(concentration - 1) of the correlation matrix.

    >>> LKJCholesky(3, 0.5).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _expands = ("concentration", "_beta")
    _keeps = ("dim",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # the onion method (Lewandowski, Kurowicka and Joe, 2009): the squared length of each row without its diagonal is beta
        steps = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        steps = torch.cat([steps.new_zeros((1,)), steps])
        self._beta = Beta(steps + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * steps)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        lengths = self._beta.sample(sample_shape).unsqueeze(-1)
        noise = torch.randn(self._extended_shape(sample_shape), dtype=lengths.dtype, device=lengths.device).tril(-1)
        directions = noise / noise.norm(dim=-1, keepdim=True)
        directions[..., 0, :].fill_(0.0)        # the first row has no direction
        rows = torch.sqrt(lengths) * directions
        rest = torch.clamp(1 - torch.sum(rows**2, dim=-1), min=torch.finfo(rows.dtype).tiny).sqrt()
        return rows + torch.diag_embed(rest)

    @checked
    def log_prob(self, value: Any) -> Any:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        log_norm = 0.5 * n * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n) - torch.lgamma(alpha) * n
        return torch.sum(power * diagonal.log(), dim=-1) - log_norm
