"""pixel_shuffle, pixel_unshuffle and channel_shuffle."""
from __future__ import annotations

from typing import Any

from retrograd.core.copying import copy_into
from retrograd.core.dispatch import call
from retrograd.core.opdef import defop
from retrograd.ops.shared import families, geometry


def pixel_shuffle_kernel(xp: Any, self: Any, upscale_factor: int) -> Any:
    if self.ndim < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.ndim} "
                           "dimension(s)")
    r, (c, h, w) = upscale_factor, self.shape[-3:]
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if c % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    lead, n = self.shape[:-3], self.ndim - 3
    split = self.reshape((*lead, c // (r * r), r, r, h, w)).transpose((*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return laid_out(xp, split.reshape((*lead, c // (r * r), h * r, w * r)), self)


def pixel_unshuffle_kernel(xp: Any, self: Any, downscale_factor: int) -> Any:
    if self.ndim < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {self.ndim} "
                           "dimension(s)")
    r, (c, h, w) = downscale_factor, self.shape[-3:]
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    for name, size in (("height", h), ("width", w)):
        if size % r:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size("
                               f"{-2 if name == 'height' else -1})={size} is not divisible by {r}")
    lead, n = self.shape[:-3], self.ndim - 3
    split = self.reshape((*lead, c, h // r, r, w // r, r)).transpose((*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return laid_out(xp, split.reshape((*lead, c * r * r, h // r, w // r)), self)


def laid_out(xp: Any, result: Any, like: Any) -> Any:
    """The result in new memory, with its channels innermost if those of the input are."""
    made = geometry.new_in_format(result, result.shape, geometry.channels_last_like(like))
    copy_into(made, result)
    return made


pixel_shuffle = defop(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    out="aten",
    kernel=pixel_shuffle_kernel, lower="@pixel_shuffle", jvp="linear", batch=families.in_front, variants="function",
    vjp=dict(self=lambda grad, upscale_factor: call(pixel_unshuffle, [grad, upscale_factor])), pattern="moves")
pixel_unshuffle = defop(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    out="aten",
    kernel=pixel_unshuffle_kernel, lower="@pixel_unshuffle", jvp="linear", batch=families.in_front, variants="function",
    vjp=dict(self=lambda grad, downscale_factor: call(pixel_shuffle, [grad, downscale_factor])), pattern="moves")


def channel_shuffle_kernel(xp: Any, self: Any, groups: int) -> Any:
    if self.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    n, c, *rest = self.shape
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return laid_out(xp, self.reshape((n, groups, c // groups, *rest)).swapaxes(1, 2).reshape(self.shape), self)


channel_shuffle = defop(
    "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    out="aten",
    kernel=channel_shuffle_kernel, lower="@channel_shuffle", jvp="linear", batch=families.folded, variants="function",
    vjp=dict(self=lambda grad, groups: call(channel_shuffle, [grad, grad.shape[1] // groups])), pattern="moves")
native_channel_shuffle = defop(
    "native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    kernel=channel_shuffle_kernel, lower="@channel_shuffle", jvp="linear", batch=families.folded, variants="function",
    out=False,
    vjp=dict(self=lambda grad, groups: call(native_channel_shuffle, [grad, grad.shape[1] // groups])), pattern="moves")
