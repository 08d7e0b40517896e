"""Padding with a constant, and `pad`, which chooses the kind of padding by its name."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.algorithms import native
from retrograd.core.copying import copy_into
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.opdef import defop, find_packet
from retrograd.core.tensor import FLAG_WRAPPER, new_tensor
from retrograd.ops import late
from retrograd.ops.create.elements import as_element
from retrograd.ops.memory.copy import copied, format_strides
from retrograd.ops.shared import geometry
from retrograd.ops.shared.families import in_front, is_watched, will_differentiate
from retrograd.ops.views.slicing import slice_


# ---- padding
def padded_shape(shape: Any, pad: Any) -> list[int]:
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > len(shape):
        raise RuntimeError("Length of pad should be no more than twice the number of dimensions of the input. Pad "
                           f"length is {len(pad)}while the input has {len(shape)}dimensions.")
    sizes = list(shape)
    for i in range(len(pad) // 2):
        d = len(shape) - 1 - i
        if shape[d] + min(pad[2 * i], 0) + min(pad[2 * i + 1], 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        sizes[d] += pad[2 * i] + pad[2 * i + 1]
    return sizes


def pad_kernel(xp: Any, self: Any, pad: Any, value: Any) -> Any:
    shape = padded_shape(self.shape, pad)
    if native is not None and 0 < len(pad) <= 6 and max(pad) > 0 <= min(pad) and not geometry.channels_last_like(self):
        made = native.padded(self, len(pad) // 2, tuple(pad[::2][::-1]), tuple(pad[1::2][::-1]),
                             xp.asarray(as_element(value, self.dtype), self.dtype))
        if made is not None:
            return made
    source, target = [slice(None)] * self.ndim, [slice(None)] * self.ndim
    for i in range(len(pad) // 2):
        d = self.ndim - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        target[d] = slice(max(before, 0), shape[d] - max(after, 0))
        source[d] = slice(max(-before, 0), self.shape[d] - max(-after, 0))
    if all([n <= 0 for n in pad]):
        part = self[tuple(source)]
        return copied(part, None, format_strides(part, None))
    made = geometry.new_in_format(self, shape, geometry.channels_last_like(self))
    copy_into(made, xp.asarray(as_element(value, self.dtype), self.dtype))
    copy_into(made[tuple(target)], self[tuple(source)])
    return made


constant_pad_nd = defop(
    "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    out="aten",
    kernel=pad_kernel, lower="@constant_pad_nd",
    vjp=dict(self=lambda grad, pad: call(constant_pad_nd, [grad, [-n for n in pad], 0])),
    jvp=lambda self_t, pad: call(constant_pad_nd, [self_t, pad, 0]), batch=in_front, variants="function", pattern="moves",
    traits=("chalf",),
)


def padded(self: Any, pad: Any, mode: str, value: Any) -> Any:
    """A tensor with more (or fewer) positions at the ends of its last dimensions."""
    ndim = self.array.ndim
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got padding "
                           f"length {len(pad)} and input of dimension {ndim}")
    if mode == "constant":
        return call(constant_pad_nd, [self, pad, 0.0 if value is None else value])
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(pad) not in (2, 4, 6) or ndim - len(pad) // 2 not in (1, 2):
        raise NotImplementedError(UNSUPPORTED_PADDING.format(len(pad), ndim))
    if mode == "circular":
        return padded_in_a_circle(self, pad)
    kind = "reflection" if mode == "reflect" else "replication"
    return call(find_packet(f"{kind}_pad{len(pad) // 2}d").default, [self, pad])      # type: ignore[union-attr]


UNSUPPORTED_PADDING = """Padding size {} is not supported for {}D input tensor.
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def written_in_a_circle(self: Any, pad: Any) -> Any:
    """Circular padding, written into a new tensor piece by piece; the writes are visible in versions and graphs."""
    sizes = self.array.shape
    dims = [(len(sizes) - 1 - i, pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    if any([max(before, after) > sizes[d] for d, before, after in dims]):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    shape = list(sizes)
    for d, before, after in dims:
        shape[d] += before + after
    made = late.empty(tuple(shape), dtype=self.dtype, device=self.device)
    inside = made
    for d, before, _ in dims:
        inside = call(slice_, [inside, d, before, before + sizes[d], 1])
    inside.copy_(self)
    for d, before, after in dims:
        end = shape[d]
        for first, last, start in ((0, before, end - before - after), (end - after, end, before)):
            if last > first:
                source = call(slice_, [made, d, start, start + last - first, 1])
                call(slice_, [made, d, first, last, 1]).copy_(source)
    return made


def padded_in_a_circle(self: Any, pad: Any) -> Any:
    """Circular padding, dimension by dimension; negative padding is cropped first."""
    ndim = self.array.ndim
    if any([p < 0 for p in pad]):
        for i in range(len(pad) // 2):
            if self.array.shape[-1 - i] + min(pad[2 * i], 0) + min(pad[2 * i + 1], 0) < 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
        self = call(constant_pad_nd, [self, [min(p, 0) for p in pad], 0.0])
        pad = [max(p, 0) for p in pad]
    if native is not None and is_ordinary(self) and not is_watched() and not will_differentiate(self):
        made = native.padded(self.array, len(pad) // 2, tuple(pad[::2][::-1]), tuple(pad[1::2][::-1]), "c")
        if made is not None:
            return new_tensor(made)
    if not self._flags & FLAG_WRAPPER:
        return written_in_a_circle(self, pad)
    for i in range(len(pad) // 2):
        d = ndim - 1 - i
        size, before, after = self.array.shape[d], pad[2 * i], pad[2 * i + 1]
        if before > size or after > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if before or after:
            self = late.index_select(self, d, new_tensor(np.arange(-before, size + after) % size))
    return self


defop('pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor', kernel=padded, composite=True,
      variants="", out=False, lower="@native.pad")
