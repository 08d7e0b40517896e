"""Rearranged pixels and channels: pixel_shuffle, pixel_unshuffle, channel_shuffle."""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.nn.pool import following
from retrograd.ops.shared import families


def check_pixels(name: str, self: Any, factor: int, what: str) -> None:
    if self.ndim < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {self.ndim} dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")


def pixel_shuffle_kernel(xp: Any, self: Any, upscale_factor: int) -> Any:
    r = upscale_factor
    check_pixels("pixel_shuffle", self, r, "upscale_factor")
    *batch, channels, height, width = self.shape
    if channels % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    split = self.reshape((*batch, channels // (r * r), r, r, height, width))
    k = len(batch)
    order = (*range(k + 1), k + 3, k + 1, k + 4, k + 2)
    return following(split.transpose(order).copy("C").reshape((*batch, channels // (r * r), height * r, width * r)), self)


def pixel_unshuffle_kernel(xp: Any, self: Any, downscale_factor: int) -> Any:
    r = downscale_factor
    check_pixels("pixel_unshuffle", self, r, "downscale_factor")
    *batch, channels, height, width = self.shape
    for name, place, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({place})="
                               f"{size} is not divisible by {r}")
    split = self.reshape((*batch, channels, height // r, r, width // r, r))
    k = len(batch)
    order = (*range(k + 1), k + 2, k + 4, k + 1, k + 3)
    return following(split.transpose(order).copy("C").reshape((*batch, channels * r * r, height // r, width // r)), self)


def leading_batch(op: Any, args: Any, dims: Any, size: int) -> Any:
    return call(op, [families.move_to_front(args[0], dims[0]), *args[1:]]), 0


defop(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    kernel=pixel_shuffle_kernel, vjp=dict(self=lambda grad, upscale_factor: late.pixel_unshuffle(grad, upscale_factor)),
    jvp="linear", batch=leading_batch, variants="function",
)
defop(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    kernel=pixel_unshuffle_kernel, jvp="linear", batch=leading_batch, variants="function",
    vjp=dict(self=lambda grad, downscale_factor: late.pixel_shuffle(grad, downscale_factor)),
)


def channel_shuffle_kernel(xp: Any, self: Any, groups: int) -> Any:
    if self.ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    channels = self.shape[1]
    if channels % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.")
    split = self.reshape((self.shape[0], groups, channels // groups, *self.shape[2:]))
    return following(split.swapaxes(1, 2).copy("C").reshape(self.shape), self)


defop(
    "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    kernel=channel_shuffle_kernel, jvp="linear", batch=families.folded, variants="function",
    vjp=dict(self=lambda grad, groups: late.channel_shuffle(grad, grad.shape[1] // groups)),
)
defop(
    "native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    kernel=channel_shuffle_kernel, jvp="linear", batch=families.folded, variants="function", out=False,
    vjp=dict(self=lambda grad, groups: late.native_channel_shuffle(grad, grad.shape[1] // groups)),
)
