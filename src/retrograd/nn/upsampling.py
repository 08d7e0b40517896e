"""Resizing and rearranging images as modules, and padding."""
from __future__ import annotations

from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.module import Module


class Upsample(Module):
    """Resizes to a size, or by a factor."""

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
    """Resizes images, taking the nearest value."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes images by a linear mixture."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Makes pixels of channels."""

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Any:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Makes channels of pixels."""

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Any:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Deals the channels out to groups."""

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
    """Pads sequences with a value."""

    rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads images with a value."""

    rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads volumes with a value."""

    rank = 3


class ZeroPad1d(_ZeroPadNd):
    """Pads sequences with zeros."""

    rank = 1


class ZeroPad2d(_ZeroPadNd):
    """Pads images with zeros."""

    rank = 2


class ZeroPad3d(_ZeroPadNd):
    """Pads volumes with zeros."""

    rank = 3


class ReflectionPad1d(_PadNd):
    """Pads sequences with their reflection."""

    rank, mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """Pads images with their reflection."""

    rank, mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """Pads volumes with their reflection."""

    rank, mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """Pads sequences with their end values."""

    rank, mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Pads images with their border."""

    rank, mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Pads volumes with their border."""

    rank, mode = 3, "replicate"


class CircularPad1d(_PadNd):
    """Pads sequences with what comes at the other end."""

    rank, mode = 1, "circular"


class CircularPad2d(_PadNd):
    """Pads images with what comes at the other side."""

    rank, mode = 2, "circular"


class CircularPad3d(_PadNd):
    """Pads volumes with what comes at the other side."""

    rank, mode = 3, "circular"
