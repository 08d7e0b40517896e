"""Pixels made of channels, and channels of pixels."""
from __future__ import annotations

from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.modules.module import Module


class PixelShuffle(Module):
    """Makes pixels of channels.

    >>> import retrograd as torch
    >>> torch.nn.PixelShuffle(2)(torch.arange(4).view(4, 1, 1))
    tensor([[[0, 1],
             [2, 3]]])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Any:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Makes channels of pixels.

    >>> import retrograd as torch
    >>> torch.nn.PixelUnshuffle(2)(torch.arange(4).view(1, 2, 2)).flatten()
    tensor([0, 1, 2, 3])
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Any:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
