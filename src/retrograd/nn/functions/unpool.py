"""Maxima put back where they were, and fractional max pooling."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import retrograd as torch
from retrograd import ops
from retrograd.nn.functions.base import overridable


def each(value: Any, rank: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) else (value,) * rank


def unpooled_size(input: Any, kernel: Any, stride: Any, padding: Any, output_size: Any) -> list[int]:
    """The size of what was pooled, which must be near the one that fits best."""
    rank = len(kernel)
    sizes = input.shape
    best = [(sizes[len(sizes) - rank + d] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(rank)]
    if output_size is None:
        return best
    if len(output_size) == rank + 2:
        output_size = output_size[2:]
    if len(output_size) != rank:
        raise ValueError(f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of "
                         f"'{len(output_size)}'")
    for d, (wanted, n, step) in enumerate(zip(output_size, best, stride[:rank], strict=True)):
        if not n - step < wanted < n + step:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {n - step} and {n + step})')
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


def fractional(rank: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any) -> Any:
    name = f"fractional_max_pool{rank}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = (output_ratio,) * rank if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
        if len(ratios) > rank:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(n * ratio) for n, ratio in zip(input.shape[-rank:], ratios, strict=True)]
    if samples is None:
        batch = 1 if input.dim() == rank + 1 else input.size(0)
        samples = torch.rand(batch, input.size(-rank - 1), rank, dtype=input.dtype, device=input.device)
    return getattr(ops.aten, name)(input, kernel_size, output_size, samples)


@overridable
def fractional_max_pool2d_with_indices(input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                                       return_indices: bool = False, _random_samples: Any = None) -> Any:
    """Maxima of windows of an image at random places, and where they are.

    >>> import retrograd as torch
    >>> top, where = torch.nn.functional.fractional_max_pool2d_with_indices(torch.ones(1, 6, 6), 2, output_size=3)
    >>> top.shape == where.shape
    True
    """
    return fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool2d(input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Any = None) -> Any:
    """Maxima of windows of an image at random places.

    >>> import retrograd as torch
    >>> torch.nn.functional.fractional_max_pool2d(torch.ones(1, 6, 6), 2, output_ratio=0.5).shape
    torch.Size([1, 3, 3])
    """
    made = fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]


@overridable
def fractional_max_pool3d_with_indices(input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                                       return_indices: bool = False, _random_samples: Any = None) -> Any:
    """Maxima of windows of a volume at random places, and where they are.

    >>> import retrograd as torch
    >>> top, where = torch.nn.functional.fractional_max_pool3d_with_indices(torch.ones(1, 6, 6, 6), 2, output_size=3)
    >>> top.shape == where.shape
    True
    """
    return fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool3d(input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Any = None) -> Any:
    """Maxima of windows of a volume at random places.

    >>> import retrograd as torch
    >>> torch.nn.functional.fractional_max_pool3d(torch.ones(1, 6, 6, 6), 2, output_ratio=0.5).shape
    torch.Size([1, 3, 3, 3])
    """
    made = fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]
