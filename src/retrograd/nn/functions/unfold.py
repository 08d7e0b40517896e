"""Sliding blocks of images as columns, and back."""
from __future__ import annotations

from typing import Any

from retrograd import ops
from retrograd.nn.functions.base import overridable


def pair(value: Any) -> tuple[int, int]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value, value)


@overridable
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The blocks that a kernel sees as it slides over images, one column for each.

    >>> import retrograd as torch
    >>> unfold(torch.ones(1, 2, 4, 4), 3).shape
    torch.Size([1, 18, 4])
    """
    return ops.aten.im2col(input, pair(kernel_size), pair(dilation), pair(padding), pair(stride))


@overridable
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Images made of columns of blocks; where blocks overlap they are added.

    >>> import retrograd as torch
    >>> fold(torch.ones(1, 18, 4), (4, 4), 3).shape
    torch.Size([1, 2, 4, 4])
    """
    return ops.aten.col2im(input, pair(output_size), pair(kernel_size), pair(dilation), pair(padding), pair(stride))
