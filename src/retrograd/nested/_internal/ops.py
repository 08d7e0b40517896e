"""Dimensions of jagged tensors, and of the dense tensors of which they consist."""
from __future__ import annotations

from typing import Any


def inside(ndim: int, dim: Any, ragged_dim: int, canonicalize: bool = False) -> Any:
    """The dimension of a component that is dimension `dim` of a jagged tensor; the batch is where the values are packed.

    >>> inside(4, -1, 1, canonicalize=True), inside(4, (0, 1, 3), 1), inside(4, 0, 2)
    (2, (0, 2), 1)
    """
    if isinstance(dim, (tuple, list)):
        return type(dim)(dict.fromkeys([inside(ndim, d, ragged_dim) for d in dim]))
    if canonicalize:
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
        dim %= ndim
    if not 0 <= dim < ndim:
        raise AssertionError(f"dim {dim} out of range for ndim {ndim}")
    return ragged_dim - 1 if dim == 0 else dim - 1
