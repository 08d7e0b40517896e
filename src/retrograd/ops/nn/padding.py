"""Reflection and replication padding."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.algorithms import native
from retrograd.core.copying import copy_into
from retrograd.core.dispatch import call
from retrograd.core.dtypes import is_inexact_type
from retrograd.core.opdef import camel, defop
from retrograd.ops import late
from retrograd.ops.shared import families, geometry
from retrograd.ops.shared.along import add_rows
from retrograd.ops.shared.elementwise import unsupported


def mirrored(size: int, before: int, after: int) -> Any:
    """The source positions of a padded dimension."""
    places = np.abs(np.arange(-before, size + after))
    return np.where(places >= size, 2 * (size - 1) - places, places)


def repeated(size: int, before: int, after: int) -> Any:
    return np.arange(-before, size + after).clip(0, size - 1)


def check_padding(shape: Any, padding: Any, rank: int, is_mirror: bool) -> None:
    if len(padding) != 2 * rank:
        raise RuntimeError(f"padding size is expected to be {2 * rank}" + (f", but got: {len(padding)}" if is_mirror else ""))
    batched = len(shape) == rank + 2
    if len(shape) not in (rank + 1, rank + 2) or 0 in shape[1 if batched else 0:]:
        raise RuntimeError(f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 batch size and other "
                           f"non-zero dimensions for input, but got: {list(shape)}")
    for i in range(rank):
        size, before, after = shape[-1 - i], padding[2 * i], padding[2 * i + 1]
        if is_mirror and (before >= size or after >= size):
            raise RuntimeError(f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, "
                               f"but got: padding ({before}, {after}) at dimension {len(shape) - 1 - i} of input "
                               f"{list(shape)}")
    made = [shape[-1 - i] + padding[2 * i] + padding[2 * i + 1] for i in range(rank)]
    if min(made) < 0 or (rank == 1 and made[0] < 1):
        sizes, results = ([f"{s}: {n}" for s, n in zip("DHW"[3 - rank:], values, strict=True)]
                          for values in (shape[-rank:], made[::-1]))
        told = " ".join([*sizes[:-2], ", ".join(sizes[-2:])])
        gap = " " if rank == 2 and not is_mirror else ""
        raise RuntimeError(f"input ({told}{gap}) is too small. Calculated output {' '.join(results)}")


def with_edges(array: Any, padding: Any, rank: int, is_mirror: bool) -> Any:
    """The array with elements around it: copied into the middle, then dimension by dimension, the last one first."""
    lead = array.ndim - rank
    sizes = array.shape[lead:]
    before, after = padding[::2][::-1], padding[1::2][::-1]
    channels_last = geometry.channels_last_like(array)
    if native is not None and not channels_last:
        made = native.padded(array, rank, tuple(before), tuple(after), "m" if is_mirror else "r")
        if made is not None:
            return made
    made = geometry.new_in_format(array, (*array.shape[:lead], *[b + n + a for b, n, a in zip(before, sizes, after,
                                                                                           strict=True)]), channels_last)
    inner = [slice(b, b + n) for b, n in zip(before, sizes, strict=True)]
    copy_into(made[(..., *inner)], array)
    for d in reversed(range(rank)):
        b, n, a = before[d], sizes[d], after[d]
        outer = (..., *inner[:d])
        rest = (slice(None),) * (rank - 1 - d)
        if b:
            made[(*outer, slice(0, b), *rest)] = made[(*outer, slice(2 * b, b, -1) if is_mirror else slice(b, b + 1), *rest)]
        if a:
            end = b + n
            stop = end - 2 - a if end - 2 - a >= 0 else None
            source = slice(end - 2, stop, -1) if is_mirror else slice(end - 1, end)
            made[(*outer, slice(end, end + a), *rest)] = made[(*outer, source, *rest)]
    return made


def rows(name: str, rank: int, places: Any, autocast: str | None) -> None:
    """Declare one kind of padding for the last `rank` dimensions."""
    is_mirror = places is mirrored

    def forward_kernel(xp: Any, self: Any, padding: Any) -> Any:
        if self.dtype.kind == "b":
            raise unsupported(name, self.dtype)
        check_padding(self.shape, padding, rank, is_mirror)
        if min(padding) >= 0 and self.size:
            return with_edges(self, padding, rank, is_mirror)
        result = self
        for i in range(rank):
            axis = self.ndim - 1 - i
            result = result.take(xp.asarray(places(self.shape[axis], padding[2 * i], padding[2 * i + 1])), axis)
        made = geometry.new_in_format(result, result.shape, geometry.channels_last_like(self))
        copy_into(made, result)
        return made

    def backward_kernel(xp: Any, grad_output: Any, self: Any, padding: Any) -> Any:
        if not is_inexact_type(grad_output.dtype):
            raise unsupported(f"{name}_backward", grad_output.dtype)
        check_padding(self.shape, padding, rank, is_mirror)
        result = grad_output
        for i in range(rank):
            axis = self.ndim - 1 - i
            size = self.shape[axis]
            expected = size + padding[2 * i] + padding[2 * i + 1]
            if grad_output.shape[axis] != expected:
                side = ("width", "height", "depth")[i]
                raise RuntimeError(f"grad_output {side} unexpected. Expected: {expected}, Got: {grad_output.shape[axis]}")
            summed = xp.zeros((*result.shape[:axis], size, *result.shape[axis + 1:]), result.dtype)
            add_rows(summed, xp.asarray(places(size, padding[2 * i], padding[2 * i + 1])), result, axis)
            result = summed
        made = geometry.new_in_format(grad_output, self.shape, geometry.channels_last_like(self))
        copy_into(made, result)
        return made

    stem = camel(name[:-1]) + "D"
    columns: dict[str, Any] = dict(batch=families.folded, variants="")
    backward = defop(
        f"{name}_backward(Tensor grad_output, Tensor self, SymInt[{2 * rank}] padding) -> Tensor",
        kernel=backward_kernel, node=f"{stem}BackwardBackward0", widen=True, out=False,
        vjp=dict(grad_output=lambda grad, padding: call(forward, [grad, padding]),
                 self=lambda grad, self_shape: late.zeros(self_shape, dtype=grad.dtype, device=grad.device)),
        jvp=lambda grad_output_t, self_p, padding: call(backward, [grad_output_t, self_p, padding]), **columns,
    )
    forward = defop(
        f"{name}(Tensor self, SymInt[{2 * rank}] padding) -> Tensor",
        kernel=forward_kernel, node=f"{stem}Backward0", jvp="linear",
        vjp=dict(self=lambda grad, self, padding: call(backward, [grad, self, padding])), autocast=autocast,
        lower=f"@native.{name}", **columns,
    )


for rank in (1, 2, 3):
    rows(f"reflection_pad{rank}d", rank, mirrored, None if rank == 3 else "float32")
    rows(f"replication_pad{rank}d", rank, repeated, "float32")
