"""Resizing and rearranging images as modules, and padding."""
from __future__ import annotations

from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.module import Module


class Upsample(Module):
    """Resizes to a size, or by a factor.

    >>> import retrograd as torch
    >>> torch.nn.Upsample(scale_factor=2, mode="linear")(torch.tensor([[[0.0, 4.0]]]))
    tensor([[[0., 1., 3., 4.]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
                 recompute_scale_factor: bool | None = None) -> None:
        super().__init__()
        self.name, self.size, self.mode = type(self).__name__, size, mode
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(f) for f in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Any) -> Any:
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             recompute_scale_factor=self.recompute_scale_factor)

    def extra_repr(self) -> str:
        size = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes images, taking the nearest value.

    >>> import retrograd as torch
    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes images by a linear mixture.

    >>> import retrograd as torch
    >>> torch.nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


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


class _PadNd(Module):
    """The base of padding."""

    __constants__ = ["padding"]
    rank, mode = 0, "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.rank) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    """The base of padding with a value."""

    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    """The base of padding with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd):
    """Pads sequences with a value.

    >>> import retrograd as torch
    >>> torch.nn.ConstantPad1d((1, 2), 9.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2., 9., 9.]])
    """

    rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads images with a value.

    >>> import retrograd as torch
    >>> torch.nn.ConstantPad2d((1, 0, 0, 1), 9.0)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[9., 1., 2.],
             [9., 9., 9.]]])
    """

    rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads volumes with a value.

    >>> import retrograd as torch
    >>> torch.nn.ConstantPad3d(1, 9.0)(torch.ones(1, 1, 2, 3)).shape
    torch.Size([1, 3, 4, 5])
    """

    rank = 3


class ZeroPad1d(_ZeroPadNd):
    """Pads sequences with zeros.

    >>> import retrograd as torch
    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """

    rank = 1


class ZeroPad2d(_ZeroPadNd):
    """Pads images with zeros.

    >>> import retrograd as torch
    >>> torch.nn.ZeroPad2d((1, 0, 0, 1))(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[0., 1., 2.],
             [0., 0., 0.]]])
    """

    rank = 2


class ZeroPad3d(_ZeroPadNd):
    """Pads volumes with zeros.

    >>> import retrograd as torch
    >>> torch.nn.ZeroPad3d((1, 1, 0, 0, 0, 2))(torch.ones(1, 1, 2, 3)).shape
    torch.Size([1, 3, 2, 5])
    """

    rank = 3


class ReflectionPad1d(_PadNd):
    """Pads sequences with their reflection.

    >>> import retrograd as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    rank, mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """Pads images with their reflection.

    >>> import retrograd as torch
    >>> torch.nn.ReflectionPad2d((0, 0, 1, 1))(torch.tensor([[[1.0], [2.0]]])).flatten()
    tensor([2., 1., 2., 1.])
    """

    rank, mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """Pads volumes with their reflection.

    >>> import retrograd as torch
    >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    rank, mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """Pads sequences with their end values.

    >>> import retrograd as torch
    >>> torch.nn.ReplicationPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    rank, mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Pads images with their border.

    >>> import retrograd as torch
    >>> torch.nn.ReplicationPad2d((0, 0, 1, 2))(torch.tensor([[[1.0], [2.0]]])).flatten()
    tensor([1., 1., 2., 2., 2.])
    """

    rank, mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Pads volumes with their border.

    >>> import retrograd as torch
    >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    rank, mode = 3, "replicate"


class CircularPad1d(_PadNd):
    """Pads sequences with what comes at the other end.

    >>> import retrograd as torch
    >>> torch.nn.CircularPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 3., 1., 2., 3., 1., 2.]])
    """

    rank, mode = 1, "circular"


class CircularPad2d(_PadNd):
    """Pads images with what comes at the other side.

    >>> import retrograd as torch
    >>> torch.nn.CircularPad2d((0, 0, 1, 1))(torch.tensor([[[1.0], [2.0]]])).flatten()
    tensor([2., 1., 2., 1.])
    """

    rank, mode = 2, "circular"


class CircularPad3d(_PadNd):
    """Pads volumes with what comes at the other side.

    >>> import retrograd as torch
    >>> torch.nn.CircularPad3d(1)(torch.ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    rank, mode = 3, "circular"
