"""Fractional max pooling: maxima of windows at random positions.

Along each dimension the windows start at `trunc((i + u) a) - trunc(u a)`, where u is the sample and a the mean distance; the
last one ends at the end of the input.
"""
from __future__ import annotations

import math
from typing import Any

from retrograd.core import lean
from retrograd.core.algorithms import native, native_on_copies
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef, defop
from retrograd.ops.nn.pool import flat_gather, scatter_kernel, zero_like
from retrograd.ops.nn.pool_checks import widened
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import takes
from retrograd.ops.shared.elementwise import unsupported

WORDS = {2: ("height", "width"), 3: ("time", "height", "width")}


def check(name: str, rank: int, self: Any, kernel: Any, output: Any, samples: Any) -> None:
    """Check the arguments, with PyTorch's error texts."""
    place = f"{name}()" if rank == 2 else f"{name}_out()"
    for what, value in (("kernel_size", kernel), ("output_size", output)):
        if not isinstance(value, int) and len(value) != rank:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {'three ' * (rank == 3)}Ints")
    if self.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(f"{place}: Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(self.shape)}")
    for dim in range(self.ndim - rank - 1, self.ndim):
        if self.shape[dim] == 0:
            raise RuntimeError(f"{place}: Expected input to have non-zero size for non-batch dimensions, but got"
                               f"{list(self.shape)} with dimension {dim} being empty.")
    sizes = zip(WORDS[rank], self.shape[-rank:], widened(kernel, rank), widened(output, rank), strict=True)
    for word, size, wide, count in sizes:
        if count + wide - 1 > size - (rank == 3):      # sic: in three dimensions there must be room left
            raise RuntimeError(f"{place}: pool {word} {wide} too large relative to input {word} {size}")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = self.shape[0] if self.ndim == rank + 2 else 1
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != self.shape[-rank - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != rank:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {rank}; got {samples.shape[2]}.")
    if samples.dtype != self.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")


def starts(xp: Any, sample: Any, size: int, wide: int, count: int) -> Any:
    """Where the windows of each plane start along one dimension."""
    last = xp.full((*sample.shape, min(count, 1)), size - wide, xp.int64)
    if count < 2:
        return last
    distance = sample.dtype.type(size - wide) / sample.dtype.type(count - 1)
    steps = ((xp.arange(count - 1).astype(sample.dtype) + sample[..., None]) * distance).astype(xp.int64)
    return xp.concatenate([steps - (sample * distance).astype(xp.int64)[..., None], last], -1)


def fractional_rows(rank: int) -> OpDef:
    name, node = f"fractional_max_pool{rank}d", f"FractionalMaxPool{rank}DBackward"
    sizes = f"int[{rank}] kernel_size, int[{rank}] output_size"

    def kernel(xp: Any, self: Any, kernel_size: Any, output_size: Any, random_samples: Any) -> Any:
        made = native_on_copies(native, "pool_fractional", self, rank, kernel_size, output_size, random_samples, halves=True)
        if made is not None:
            return made
        windows, output = widened(kernel_size, rank), widened(output_size, rank)
        check(name, rank, self, kernel_size, output_size, random_samples)
        if self.dtype.kind not in "fV":
            raise unsupported(f"{name}_out_frame", self.dtype)
        planes, inner = self.shape[:-rank], self.shape[-rank:]
        samples = random_samples[:self.shape[0]] if self.ndim == rank + 2 else random_samples[0]
        index = xp.zeros((*planes, *[1] * (2 * rank)), xp.int64)
        for d in range(rank):                  # for each, one dimension of positions and one inside windows
            sample = samples[..., rank - 1 - d] if rank == 2 else samples[..., d]
            at = starts(xp, sample, inner[d], windows[d], output[d])
            shape = [1] * (2 * rank)
            shape[d], shape[rank + d] = output[d], windows[d]
            index = index * inner[d] + (at[..., None] + xp.arange(windows[d])).reshape(*planes, *shape)
        index = index.reshape(*planes, math.prod(output), math.prod(windows))
        flat = self.reshape(*planes, 1, math.prod(inner))
        values = xp.take_along_axis(lean.broadcast_to(flat, (*planes, math.prod(output), math.prod(inner))), index, -1)
        best = values.argmax(-1)[..., None]
        return (xp.take_along_axis(values, best, -1).reshape(*planes, *output),
                xp.take_along_axis(index, best, -1).reshape(*planes, *output))

    backward = defop(
        f"{name}_backward(Tensor grad_output, Tensor self, {sizes}, Tensor indices) -> Tensor",
        kernel=lambda xp, grad_output, self, kernel_size, output_size, indices: scatter_kernel(
            xp, grad_output, self, indices, rank),
        check=takes(f"{name}_backward_out_frame", "FH"),
        vjp=dict(grad_output=lambda grad, indices: flat_gather(grad, indices, rank), self=zero_like),
        jvp=lambda grad_output_t, self_p, kernel_size, output_size, indices: call(
            backward, [grad_output_t, self_p, kernel_size, output_size, indices]),
        batch=families.folded, variants="", node=f"{node}Backward0", pattern=("last", rank),
    )
    return defop(
        f"{name}(Tensor self, {sizes}, Tensor random_samples) -> (Tensor, Tensor)", kernel=kernel, node=f"{node}0",
        vjp=dict(self=lambda grad, self, kernel_size, output_size, result1: call(
            backward, [grad, self, kernel_size, output_size, result1])),
        jvp=lambda self_t, result1: (flat_gather(self_t, result1, rank), zero_like(result1)), variants="",
        batch=families.loop, autocast="float32", pattern=("choices", rank), out_form="output(output, indices)",
    )


fractional_max_pool2d, fractional_max_pool3d = fractional_rows(2), fractional_rows(3)
