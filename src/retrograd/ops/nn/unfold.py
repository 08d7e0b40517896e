"""im2col and col2im: sliding blocks of images as columns, and columns summed to images."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef, defop
from retrograd.core.reserved import contiguous_array
from retrograd.ops.shared import families, images
from retrograd.ops.shared.elementwise import unsupported


def pair(value: Any) -> str:
    return f"({value[0]}, {value[1]})"


def both(name: str, value: Any) -> tuple[int, int]:
    if len(value) not in (1, 2):
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    return (value[0], value[0]) if len(value) == 1 else (value[0], value[1])


def check_window(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> None:
    for name, short, value, low in (("kernel size", "kernel", kernel_size, 1), ("dilation", "dilation", dilation, 1),
                                    ("padding", "pad", padding, 0), ("stride", "stride", stride, 1)):
        if min(value) < low:
            raise RuntimeError(f"{name} should be {'greater than zero' if low else 'non-negative'}, but got "
                               f"{short}_height: {value[0]} {short}_width: {value[1]}")


def block_counts(size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[int, int]:
    """How many blocks there are in each direction."""
    first, second = [(n + 2 * p - d * (k - 1) - 1) // s + 1
                     for n, k, d, p, s in zip(size, kernel_size, dilation, padding, stride, strict=True)]
    return first, second


def im2col_kernel(xp: Any, self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    kernel_size, dilation = both("kernel_size", kernel_size), both("dilation", dilation)
    padding, stride = both("padding", padding), both("stride", stride)
    check_window(kernel_size, dilation, padding, stride)
    if self.ndim < 3 and (self.size or self.ndim < 2 or not self.shape[0] and self.shape[1]):
        families.wrap_dim(max(self.ndim, 1), self.ndim, scalar_ok=False)
    if self.ndim not in (3, 4) or 0 in self.shape[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                           f"input, but got: {list(self.shape)}")
    counts = block_counts(self.shape[-2:], kernel_size, dilation, padding, stride)
    if min(counts) < 1:
        raise RuntimeError(f"Given input with spatial size {pair(self.shape[-2:])}, kernel_size={pair(kernel_size)}, "
                           f"dilation={pair(dilation)}, padding={pair(padding)}, calculated shape of the array of sliding "
                           f"blocks as {pair(counts)}, but its components must be at least one.")
    if self.dtype.kind not in "fcVb":
        raise unsupported("im2col_out_cpu", self.dtype)
    shape = (*self.shape[:-3], self.shape[-3] * math.prod(kernel_size), math.prod(counts))
    done = images.columns(self, shape, counts, kernel_size, dilation, padding, stride)
    if done is not None:
        return done
    image = lean.zero_padded(self, padding)
    made = xp.empty((*self.shape[:-2], *kernel_size, *counts), self.dtype)
    for i, j in np.ndindex(*kernel_size):
        made[..., i, j, :, :] = window(image, (i, j), counts, dilation, stride)
    return made.reshape(shape)


def window(image: Any, place: Any, counts: Any, dilation: Any, stride: Any) -> Any:
    """The view of the image at one kernel position."""
    rows, columns = (slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s,
                     n in zip(place, dilation, stride, counts, strict=True))
    return image[..., rows, columns]


def col2im_kernel(xp: Any, self: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    if len(output_size) != 2:
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {len(output_size)}")
    kernel_size, dilation = both("kernel_size", kernel_size), both("dilation", dilation)
    padding, stride = both("padding", padding), both("stride", stride)
    check_window(kernel_size, dilation, padding, stride)
    if self.ndim not in (2, 3) or 0 in self.shape[-2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions "
                           f"for input, but got: {list(self.shape)}")
    channels, blocks = self.shape[-2:]
    if channels % math.prod(kernel_size):
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={channels} and kernel_size={pair(kernel_size)}.")
    counts = block_counts(output_size, kernel_size, dilation, padding, stride)
    if blocks != math.prod(counts):
        raise RuntimeError(f"Given output_size={pair(output_size)}, kernel_size={pair(kernel_size)}, "
                           f"dilation={pair(dilation)}, padding={pair(padding)}, stride={pair(stride)}, expected size of "
                           "input's dimension 2 to match the "
                           f"calculated number of sliding blocks {counts[0]} * {counts[1]} = {math.prod(counts)}, but got "
                           f"input.size(2)={blocks}.")
    if self.dtype.kind not in "fcVb":
        raise unsupported("col2im_out_cpu", self.dtype)
    planes = (*self.shape[:-2], channels // math.prod(kernel_size))
    done = images.images(self, (*planes, *output_size), counts, kernel_size, dilation, padding, stride)
    if done is not None:
        return done
    columns = self.reshape((*planes, *kernel_size, *counts))
    image = xp.zeros((*planes, *[n + 2 * p for n, p in zip(output_size, padding, strict=True)]), self.dtype)
    for i, j in np.ndindex(*kernel_size):
        window(image, (i, j), counts, dilation, stride)[...] += columns[..., i, j, :, :]
    top, left = padding
    return xp.ascontiguousarray(image[..., top:top + output_size[0], left:left + output_size[1]])


def im2col_shape(xp: Any, self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """The geometry of `im2col`."""
    blocks = math.prod([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(
        self.shape[-2:], padding, dilation, kernel_size, stride, strict=True)])
    return contiguous_array((*self.shape[:-3], self.shape[-3] * math.prod(kernel_size), blocks), self.dtype)


def batched(rank: int) -> Any:
    """The batching rule: examples are merged into the images' batch dimension, or become it."""
    def rule(op: OpDef, args: Any, dims: Any, size: int) -> Any:
        x = families.move_to_front(args[0], dims[0])
        if x.ndim - 1 == rank:
            return call(op, [x, *args[1:]]), 0
        made = call(op, [x.reshape((-1, *x.shape[2:])), *args[1:]])
        return made.reshape((size, -1, *made.shape[1:])), 0
    return rule


im2col = defop(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    out="scalar",
    kernel=im2col_kernel, meta=im2col_shape, jvp="linear", batch=batched(3), node="Im2ColBackward0", widen=True, variants="",
    vjp=dict(self=lambda grad, self_sym_argsize_minus_2, self_sym_argsize_minus_1, kernel_size, dilation, padding, stride:
             call(col2im, [grad, (self_sym_argsize_minus_2, self_sym_argsize_minus_1), kernel_size, dilation, padding,
                           stride])), pattern="moves", masked="passthrough",
)
col2im = defop(
    "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    out="scalar",
    kernel=col2im_kernel, jvp="linear", batch=batched(2), node="Col2ImBackward0", widen=True, variants="",
    vjp=dict(self=lambda grad, kernel_size, dilation, padding, stride:
             call(im2col, [grad, kernel_size, dilation, padding, stride])), masked="passthrough",
)
