"""Pooling as functions: means and maxima of windows."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import ops
from retrograd.nn.functions.base import aten, overridable
from retrograd.nn.functions.unpool import each

avg_pool1d = torch.avg_pool1d
avg_pool2d = aten("avg_pool2d", doc="""The mean of each window of an image.

    >>> import retrograd as torch
    >>> torch.nn.functional.avg_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), 2)
    tensor([[[3.]]])
    """)
avg_pool3d = aten("avg_pool3d", doc="""The mean of each window of a volume.

    >>> import retrograd as torch
    >>> torch.nn.functional.avg_pool3d(torch.arange(8.0).view(1, 1, 2, 2, 2), 2)
    tensor([[[[[3.5000]]]]])
    """)


def pooled(rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
           return_indices: bool) -> Any:
    stride = [] if stride is None else stride
    if return_indices:
        return getattr(ops.aten, f"max_pool{rank}d_with_indices")(input, kernel_size, stride, padding, dilation, ceil_mode)
    return getattr(torch, f"max_pool{rank}d")(input, kernel_size, stride, padding, dilation, ceil_mode)


@overridable
def max_pool1d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """The maximum of each window of a sequence.

    >>> import retrograd as torch
    >>> torch.nn.functional.max_pool1d(torch.tensor([[[1.0, 5.0, 2.0, 3.0]]]), 2)
    tensor([[[5., 3.]]])
    """
    return pooled(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overridable
def max_pool2d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """The maximum of each window of an image.

    >>> import retrograd as torch
    >>> top, where = torch.nn.functional.max_pool2d(torch.tensor([[[1.0, 2.0], [6.0, 3.0]]]), 2, return_indices=True)
    >>> top, where
    (tensor([[[6.]]]), tensor([[[2]]]))
    """
    return pooled(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overridable
def max_pool3d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """The maximum of each window of a volume.

    >>> import retrograd as torch
    >>> torch.nn.functional.max_pool3d(torch.arange(8.0).view(1, 1, 2, 2, 2), 2)
    tensor([[[[[7.]]]]])
    """
    return pooled(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overridable
def max_pool1d_with_indices(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of a sequence, and where it is.

    >>> import retrograd as torch
    >>> torch.nn.functional.max_pool1d_with_indices(torch.ones(1, 2), 2)[1].item()
    0
    """
    return pooled(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


@overridable
def max_pool2d_with_indices(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of an image, and where it is.

    >>> import retrograd as torch
    >>> torch.nn.functional.max_pool2d_with_indices(torch.ones(1, 2, 2), 2)[1].item()
    0
    """
    return pooled(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


@overridable
def max_pool3d_with_indices(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of a volume, and where it is.

    >>> import retrograd as torch
    >>> torch.nn.functional.max_pool3d_with_indices(torch.ones(1, 2, 2, 2), 2)[1].item()
    0
    """
    return pooled(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


def filled(output_size: Any, input: Any, rank: int) -> list[int]:
    """None in an output size means the input's own."""
    if isinstance(output_size, int):
        return [output_size] * rank
    if output_size is None:
        raise TypeError("object of type 'NoneType' has no len()")
    sizes = list(output_size)
    if input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [n if wanted is None else wanted for wanted, n in zip(sizes, input.shape[input.dim() - len(sizes):], strict=True)]


def filled_max(output_size: Any, input: Any, rank: int) -> list[int]:
    """`filled` for maxima, whose kernels do not accept one number in a tuple."""
    sizes = filled(output_size, input, rank)
    if len(sizes) != rank:
        raise RuntimeError(f"adaptive_max_pool{rank}d(): internal error: output_size.size() must be {rank}")
    return sizes


@overridable
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """Means of as many windows as wanted.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1.0, 2.0, 3.0, 6.0, 9.0]]), 2)
    tensor([[2., 6.]])
    """
    return torch.adaptive_avg_pool1d(input, output_size)


@overridable
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Means of as many boxes of an image as wanted.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), 1)
    tensor([[[3.]]])
    """
    return ops.aten.adaptive_avg_pool2d(input, filled(output_size, input, 2))


@overridable
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """Means of as many boxes of a volume as wanted.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 4, 3, 8), (1, None, 2)).shape
    torch.Size([1, 1, 3, 2])
    """
    return ops.aten.adaptive_avg_pool3d(input, filled(output_size, input, 3))


@overridable
def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many windows as wanted.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 2.0, 3.0, 6.0, 9.0]]), 2)
    tensor([[3., 9.]])
    """
    made = torch.adaptive_max_pool1d(input, output_size)
    return made if return_indices else made[0]


@overridable
def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many boxes of an image as wanted.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), 1)
    tensor([[[6.]]])
    """
    made = ops.aten.adaptive_max_pool2d(input, filled_max(output_size, input, 2))
    return made if return_indices else made[0]


@overridable
def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many boxes of a volume as wanted.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    made = ops.aten.adaptive_max_pool3d(input, filled_max(output_size, input, 3))
    return made if return_indices else made[0]


@overridable
def adaptive_max_pool1d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many windows as wanted, and where they are.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_max_pool1d_with_indices(torch.ones(1, 2), 1)[1].item()
    0
    """
    return adaptive_max_pool1d(input, output_size, return_indices=True)


@overridable
def adaptive_max_pool2d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many boxes of an image as wanted, and where they are.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_max_pool2d_with_indices(torch.ones(1, 2, 2), 1)[1].item()
    0
    """
    return adaptive_max_pool2d(input, output_size, return_indices=True)


@overridable
def adaptive_max_pool3d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many boxes of a volume as wanted, and where they are.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_max_pool3d_with_indices(torch.ones(1, 2, 2, 2), 1)[1].item()
    0
    """
    return adaptive_max_pool3d(input, output_size, return_indices=True)


def power_mean(mean: Any, norm_type: float, count: int) -> Any:
    """The norm of a window, from the mean of the powers in it."""
    return (torch.sign(mean) * torch.relu(torch.abs(mean))).mul(count).pow(1.0 / norm_type)


def extremes(pool: Any, input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
    """The norm of order infinity or minus infinity: the largest or the smallest size in each window."""
    sizes = torch.abs(input)
    return pool(sizes, kernel_size, stride, ceil_mode=ceil_mode) if norm_type > 0 else -pool(
        -sizes, kernel_size, stride, ceil_mode=ceil_mode)


@overridable
def lp_pool1d(input: Any, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of a sequence.

    >>> import retrograd as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """
    if norm_type in (math.inf, -math.inf):
        return extremes(max_pool1d, input, norm_type, kernel_size, stride, ceil_mode)
    mean = torch.avg_pool1d(input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode)
    return power_mean(mean, norm_type, kernel_size)


@overridable
def lp_pool2d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of an image.

    >>> import retrograd as torch
    >>> torch.nn.functional.lp_pool2d(torch.tensor([[[1.0, 5.0], [3.0, 1.0]]]), 2, 2)
    tensor([[[6.]]])
    """
    if norm_type in (math.inf, -math.inf):
        return extremes(max_pool2d, input, norm_type, kernel_size, stride, ceil_mode)
    rows, columns = each(kernel_size, 2)
    mean = avg_pool2d(input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode)
    return power_mean(mean, norm_type, rows * columns)


@overridable
def lp_pool3d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of a volume.

    >>> import retrograd as torch
    >>> torch.nn.functional.lp_pool3d(torch.full((1, 1, 2, 2, 2), 2.0), 3, 2)
    tensor([[[[[4.]]]]])
    """
    if norm_type in (math.inf, -math.inf):
        return extremes(max_pool3d, input, norm_type, kernel_size, stride, ceil_mode)
    depth, rows, columns = each(kernel_size, 3)
    mean = avg_pool3d(input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode)
    return power_mean(mean, norm_type, depth * rows * columns)
