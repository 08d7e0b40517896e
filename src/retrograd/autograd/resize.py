"""`Resize`, the deprecated custom Function for reshaping."""
from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from retrograd.autograd.function import Function

if TYPE_CHECKING:
    from retrograd.core.tensor import Tensor


class Resize(Function):
    """A tensor with the same elements in another shape.

    >>> import retrograd as torch
    >>> Resize.apply(torch.arange(4.0), (2, 2)).shape
    torch.Size([2, 2])
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: Any) -> Any:
        ctx.input_sizes = tensor.size()
        if prod(sizes) != tensor.numel():
            raise RuntimeError(f"requested resize to {'x'.join(map(str, sizes))} ({prod(sizes)} elements in total), but the "
                               f"given tensor has a size of {'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). "
                               "autograd's resize can only change the shape of a given tensor, while preserving the number of "
                               "elements. ")
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        return grad_output.contiguous().view(ctx.input_sizes), None
