"""Gradients of convolutions with respect to their inputs and weights, as functions."""
from __future__ import annotations

from typing import Any

from retrograd import ops
from retrograd.nn.modules.utils import _ntuple

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def gradient(rank: int, of: int, input: Any, weight: Any, grad_output: Any, stride: Any, padding: Any, dilation: Any,
             groups: int) -> Any:
    """The gradient of the input (0) or the weight (1); of that one only the shape is given."""
    shape = (input, weight)[of]
    outline = grad_output.new_empty(1).expand(shape)
    pair = (outline, weight) if of == 0 else (input, outline)
    repeated = _ntuple(rank)
    made = ops.aten.convolution_backward(grad_output, *pair, None, repeated(stride), repeated(padding), repeated(dilation),
                                         False, [0] * rank, groups, (of == 0, of == 1, False))
    return made[of]


def conv1d_input(input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1) -> Any:
    """The gradient of conv1d with respect to its input, of which only the size is given.

    >>> import retrograd as torch
    >>> torch.nn.grad.conv1d_input((1, 1, 3), torch.ones(1, 1, 2), torch.ones(1, 1, 2)).sum()
    tensor(4.)
    """
    return gradient(1, 0, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                  groups: int = 1) -> Any:
    """The gradient of conv1d with respect to its weight, of which only the size is given.

    >>> import retrograd as torch
    >>> torch.nn.grad.conv1d_weight(torch.ones(1, 1, 3), (1, 1, 2), torch.ones(1, 1, 2)).sum()
    tensor(4.)
    """
    return gradient(1, 1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1) -> Any:
    """The gradient of conv2d with respect to its input, of which only the size is given.

    >>> import retrograd as torch
    >>> torch.nn.grad.conv2d_input((1, 1, 3, 3), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)).sum()
    tensor(16.)
    """
    return gradient(2, 0, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                  groups: int = 1) -> Any:
    """The gradient of conv2d with respect to its weight, of which only the size is given.

    >>> import retrograd as torch
    >>> torch.nn.grad.conv2d_weight(torch.ones(1, 1, 3, 3), (1, 1, 2, 2), torch.ones(1, 1, 2, 2)).sum()
    tensor(16.)
    """
    return gradient(2, 1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1) -> Any:
    """The gradient of conv3d with respect to its input, of which only the size is given.

    >>> import retrograd as torch
    >>> torch.nn.grad.conv3d_input((1, 1, 3, 3, 3), torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).sum()
    tensor(64.)
    """
    return gradient(3, 0, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                  groups: int = 1) -> Any:
    """The gradient of conv3d with respect to its weight, of which only the size is given.

    >>> import retrograd as torch
    >>> torch.nn.grad.conv3d_weight(torch.ones(1, 1, 3, 3, 3), (1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).sum()
    tensor(64.)
    """
    return gradient(3, 1, input, weight_size, grad_output, stride, padding, dilation, groups)
