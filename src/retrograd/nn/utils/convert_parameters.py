"""Parameters as one vector, and back."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import retrograd as torch
from retrograd import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All elements of some parameters, one after the other.

    >>> import retrograd as torch
    >>> parameters_to_vector([torch.tensor([[1.0, 2.0]]), torch.tensor([3.0])])
    tensor([1., 2., 3.])
    """
    return torch.cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Let parameters be parts of a vector, in the order of `parameters_to_vector`.

    >>> import retrograd as torch
    >>> layer = torch.nn.Linear(1, 1)
    >>> vector_to_parameters(torch.tensor([2.0, 5.0]), layer.parameters())
    >>> layer(torch.tensor([1.0])).item()
    7.0
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        p.data = vec[start:start + p.numel()].view_as(p).data
        start += p.numel()
