"""Normalization as functions."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import ops
from retrograd.nn.functions.base import overridable


def check_batch(size: Any) -> None:
    """One value per channel has no variance."""
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


@overridable
def batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
               momentum: float = 0.1, eps: float = 1e-5) -> Any:
    """Each channel with mean 0 and variance 1 over the batch (or by running statistics), then times weight plus bias.

    >>> import retrograd as torch
    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0, 10.0], [3.0, 30.0]]), None, None, training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    if training:
        check_batch(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


@overridable
def instance_norm(input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
                  use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    """The same for each example by itself.

    >>> import retrograd as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    if use_input_stats:
        size_product = 1
        for n in input.size()[2:]:
            size_product *= n
        if size_product == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


@overridable
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 over the last dimensions, then times weight plus bias.

    >>> import retrograd as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0], [10.0, 30.0]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, True)


@overridable
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Mean square 1 over the last dimensions.

    >>> import retrograd as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    return torch.rms_norm(input, normalized_shape, weight, eps)


@overridable
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 over groups of channels.

    >>> import retrograd as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), num_groups=2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    check_batch([input.size(0) * input.size(1) // num_groups, num_groups, *list(input.size()[2:])])
    return torch.group_norm(input, num_groups, weight, bias, eps, True)


@overridable
def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Each channel divided by a power of the mean square of its neighbours.

    >>> import retrograd as torch
    >>> torch.nn.functional.local_response_norm(torch.tensor([[[1.0], [2.0]]]), 2, alpha=2.0, beta=1.0)
    tensor([[[0.5000],
             [0.3333]]])
    """
    rank = input.dim()
    if rank < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {rank} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    if rank == 3:
        squares = squares.unsqueeze(1)
        squares = ops.aten.pad(squares, (0, 0, size // 2, (size - 1) // 2))
        means = ops.aten.avg_pool2d(squares, (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        squares = squares.view(sizes[0], 1, sizes[1], sizes[2], -1)
        squares = ops.aten.pad(squares, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        means = ops.aten.avg_pool3d(squares, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / means.mul(alpha).add(k).pow(beta)
