"""Distances between vectors as modules."""
from __future__ import annotations

from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.modules.module import Module


class PairwiseDistance(Module):
    """The p-norm of differences.

    >>> import retrograd as torch
    >>> torch.nn.PairwiseDistance(eps=0)(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors.

    >>> import retrograd as torch
    >>> torch.nn.CosineSimilarity()(torch.tensor([[3.0, 4.0]]), torch.tensor([[6.0, 8.0]]))
    tensor([1.])
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
