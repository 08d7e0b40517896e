"""Shapes as tensors, for programs that compute with them."""
from __future__ import annotations

from typing import Any

import retrograd as torch


def shape_as_tensor(x: Any) -> Any:
    """The shape of a tensor as a tensor.

    >>> shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """
    return torch.tensor(x.shape)


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """A tensor in the shape that another tensor says.

    >>> reshape_from_tensor_shape(torch.ones(4), torch.tensor([2, 2])).shape
    torch.Size([2, 2])
    """
    return x.reshape(shape.tolist())
