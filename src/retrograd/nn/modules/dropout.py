"""Dropout as modules."""
from __future__ import annotations

from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.modules.module import Module


class _DropoutNd(Module):
    """The base of all kinds of dropout."""

    __constants__ = ["p", "inplace"]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets random elements to zero in training.

    >>> from retrograd import nn, ones
    >>> nn.Dropout(0.5).eval()(ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Any) -> Any:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Sets random channels of sequences to zero in training.

    >>> import retrograd as torch
    >>> layer = torch.nn.Dropout1d(p=0.5)
    >>> kept = layer(torch.ones(1, 8, 3))
    >>> all(channel.unique().numel() == 1 for channel in kept[0])
    True
    """

    def forward(self, input: Any) -> Any:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Sets random channels of images to zero in training.

    >>> import retrograd as torch
    >>> layer = torch.nn.Dropout2d(p=0.5)
    >>> set(layer(torch.ones(1, 16, 2, 2)).sum((2, 3)).flatten().tolist()) <= {0.0, 8.0}
    True
    """

    def forward(self, input: Any) -> Any:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Sets random channels of volumes to zero in training.

    >>> import retrograd as torch
    >>> layer = torch.nn.Dropout3d(p=1.0)
    >>> layer(torch.ones(1, 2, 1, 1, 1)).flatten()
    tensor([0., 0.])
    """

    def forward(self, input: Any) -> Any:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance.

    >>> import retrograd as torch
    >>> layer = torch.nn.AlphaDropout(p=0.5)
    >>> layer(torch.ones(4)).unique().numel() <= 2
    True
    >>> layer.eval()(torch.ones(4))
    tensor([1., 1., 1., 1.])
    """

    def forward(self, input: Any) -> Any:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """The same for whole channels.

    >>> import retrograd as torch
    >>> layer = torch.nn.FeatureAlphaDropout(p=0.5)
    >>> all(channel.unique().numel() == 1 for channel in layer(torch.ones(1, 8, 3))[0])
    True
    """

    def forward(self, input: Any) -> Any:
        return F.feature_alpha_dropout(input, self.p, self.training)
