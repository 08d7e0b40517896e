"""Groups of channels interleaved."""
from __future__ import annotations

from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.modules.module import Module


class ChannelShuffle(Module):
    """Deals the channels out to groups.

    >>> import retrograd as torch
    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).view(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Any) -> Any:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
