"""Pooling as functions."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import ops
from retrograd.nn.functions.base import aten, overridable

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


def filled(output_size: Any, input: Any, rank: int) -> list[int]:
    """None in an output size means the input's own."""
    sizes = [output_size] * rank if output_size is None or isinstance(output_size, int) else list(output_size)
    if input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [n if wanted is None else wanted for wanted, n in zip(sizes, input.shape[-len(sizes):], strict=True)]


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
    made = ops.aten.adaptive_max_pool2d(input, filled(output_size, input, 2))
    return made if return_indices else made[0]


@overridable
def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many boxes of a volume as wanted.

    >>> import retrograd as torch
    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    made = ops.aten.adaptive_max_pool3d(input, filled(output_size, input, 3))
    return made if return_indices else made[0]


def each(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def unpooled_size(input: Any, kernel: Any, stride: Any, padding: Any, output_size: Any) -> list[int]:
    """The size of what was pooled, which must be near the one that fits best."""
    rank = len(kernel)
    best = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-rank:], stride, kernel, padding, strict=True)]
    if output_size is None:
        return best
    if len(output_size) == rank + 2:
        output_size = output_size[2:]
    if len(output_size) != rank:
        raise ValueError(f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of "
                         f"'{len(output_size)}'")
    for d, (wanted, n, s) in enumerate(zip(output_size, best, stride, strict=True)):
        if not n - s < wanted < n + s:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {n - s} and {n + s})')
    return list(output_size)


@overridable
def max_unpool1d(input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Any:
    """The maxima of a sequence where they were found, and zeros elsewhere.

    >>> import retrograd as torch
    >>> top, where = torch.nn.functional.max_pool1d(torch.tensor([[1.0, 5.0, 3.0, 2.0]]), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool1d(top, where, 2)
    tensor([[0., 5., 3., 0.]])
    """
    kernel, padding = each(kernel_size, 1), each(padding, 1)
    size = unpooled_size(input, kernel, kernel if stride is None else each(stride, 1), padding, output_size)
    return ops.aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


@overridable
def max_unpool2d(input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Any:
    """The maxima of an image where they were found, and zeros elsewhere.

    >>> import retrograd as torch
    >>> top, where = torch.nn.functional.max_pool2d(torch.tensor([[[1.0, 2.0], [6.0, 3.0]]]), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool2d(top, where, 2)
    tensor([[[0., 0.],
             [6., 0.]]])
    """
    kernel, padding = each(kernel_size, 2), each(padding, 2)
    size = unpooled_size(input, kernel, kernel if stride is None else each(stride, 2), padding, output_size)
    return ops.aten.max_unpool2d(input, indices, size)


@overridable
def max_unpool3d(input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Any:
    """The maxima of a volume where they were found, and zeros elsewhere.

    >>> import retrograd as torch
    >>> top, where = torch.nn.functional.max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool3d(top, where, 2).flatten().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0]
    """
    kernel, padding = each(kernel_size, 3), each(padding, 3)
    steps = kernel if stride is None else each(stride, 3)
    return ops.aten.max_unpool3d(input, indices, unpooled_size(input, kernel, steps, padding, output_size), steps, padding)


def power_mean(mean: Any, norm_type: float, count: int) -> Any:
    """The norm of a window, from the mean of the powers in it."""
    return (torch.sign(mean) * torch.relu(torch.abs(mean))).mul(count).pow(1.0 / norm_type)


@overridable
def lp_pool1d(input: Any, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of a sequence.

    >>> import retrograd as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """
    mean = torch.avg_pool1d(input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode)
    return power_mean(mean, norm_type, kernel_size)


@overridable
def lp_pool2d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of an image.

    >>> import retrograd as torch
    >>> torch.nn.functional.lp_pool2d(torch.tensor([[[1.0, 5.0], [3.0, 1.0]]]), 2, 2)
    tensor([[[6.]]])
    """
    sizes = each(kernel_size, 2)
    mean = avg_pool2d(input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode)
    return power_mean(mean, norm_type, sizes[0] * sizes[1])


@overridable
def lp_pool3d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of a volume.

    >>> import retrograd as torch
    >>> torch.nn.functional.lp_pool3d(torch.full((1, 1, 2, 2, 2), 2.0), 3, 2)
    tensor([[[[[4.]]]]])
    """
    sizes = each(kernel_size, 3)
    mean = avg_pool3d(input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode)
    return power_mean(mean, norm_type, sizes[0] * sizes[1] * sizes[2])
