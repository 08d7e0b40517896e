"""Convolutions under the names of PyTorch's kernels, which take the size of the kernel besides the weights."""
from __future__ import annotations

from typing import Any

import retrograd as torch


def thnn_conv2d(self: Any, weight: Any, kernel_size: Any, bias: Any = None, stride: Any = 1, padding: Any = 0) -> Any:
    """A convolution of images.

    >>> thnn_conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), [2, 2]).shape
    torch.Size([1, 1, 2, 2])
    """
    return torch.conv2d(self, weight, bias, stride, padding)


def slow_conv3d(self: Any, weight: Any, kernel_size: Any, bias: Any = None, stride: Any = 1, padding: Any = 0) -> Any:
    """A convolution of volumes.

    >>> slow_conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(1, 1, 2, 2, 2), [2, 2, 2]).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return torch.conv3d(self, weight, bias, stride, padding)


def slow_conv_dilated2d(self: Any, weight: Any, kernel_size: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
                        dilation: Any = 1) -> Any:
    """A convolution of images with holes in the kernel.

    >>> slow_conv_dilated2d(torch.ones(1, 1, 5, 5), torch.ones(1, 1, 2, 2), [2, 2], dilation=2).shape
    torch.Size([1, 1, 3, 3])
    """
    return torch.conv2d(self, weight, bias, stride, padding, dilation)


def slow_conv_dilated3d(self: Any, weight: Any, kernel_size: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
                        dilation: Any = 1) -> Any:
    """A convolution of volumes with holes in the kernel.

    >>> slow_conv_dilated3d(torch.ones(1, 1, 3, 3, 3), torch.ones(1, 1, 2, 2, 2), [2, 2, 2], dilation=2).shape
    torch.Size([1, 1, 1, 1, 1])
    """
    return torch.conv3d(self, weight, bias, stride, padding, dilation)


def slow_conv_transpose2d(self: Any, weight: Any, kernel_size: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
                          output_padding: Any = 0, dilation: Any = 1) -> Any:
    """The transpose of a convolution of images.

    >>> slow_conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), [2, 2]).shape
    torch.Size([1, 1, 3, 3])
    """
    return torch.conv_transpose2d(self, weight, bias, stride, padding, output_padding, 1, dilation)


def slow_conv_transpose3d(self: Any, weight: Any, kernel_size: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
                          output_padding: Any = 0, dilation: Any = 1) -> Any:
    """The transpose of a convolution of volumes.

    >>> slow_conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2), [2, 2, 2]).shape
    torch.Size([1, 1, 3, 3, 3])
    """
    return torch.conv_transpose3d(self, weight, bias, stride, padding, output_padding, 1, dilation)


def conv_depthwise2d(self: Any, weight: Any, kernel_size: Any, bias: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """A convolution of every channel by itself.

    >>> conv_depthwise2d(torch.ones(1, 2, 3, 3), torch.ones(2, 1, 2, 2), [2, 2], None, 1, 0, 1).shape
    torch.Size([1, 2, 2, 2])
    """
    return torch.conv2d(self, weight, bias, stride, padding, dilation, self.shape[1])


def conv_depthwise3d(self: Any, weight: Any, kernel_size: Any, bias: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """A convolution of every channel of volumes by itself.

    >>> conv_depthwise3d(torch.ones(1, 2, 3, 3, 3), torch.ones(2, 1, 2, 2, 2), [2, 2, 2], None, 1, 0, 1).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    return torch.conv3d(self, weight, bias, stride, padding, dilation, self.shape[1])
