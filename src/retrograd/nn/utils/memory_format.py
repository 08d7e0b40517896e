"""Weights of convolutions in another memory format."""
from __future__ import annotations

from typing import Any

from retrograd.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert(module: Any, kinds: Any, memory_format: Any) -> Any:
    for part in module.modules():
        if isinstance(part, kinds):
            data = part.weight.detach().clone(memory_format=memory_format)
            part.weight.data = data.resize_(data.size(), memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all Conv2d and ConvTranspose2d in a module.

    >>> import retrograd as torch
    >>> conv = torch.nn.Conv2d(2, 2, 3)
    >>> torch.nn.utils.convert_conv2d_weight_memory_format(conv, torch.channels_last).weight.stride()
    (18, 1, 6, 2)
    """
    return convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all Conv3d and ConvTranspose3d in a module.

    >>> import retrograd as torch
    >>> conv = torch.nn.Conv3d(2, 1, 2)
    >>> torch.nn.utils.convert_conv3d_weight_memory_format(conv, torch.channels_last_3d).weight.stride()
    (16, 1, 8, 4, 2)
    """
    return convert(module, (Conv3d, ConvTranspose3d), memory_format)
