"""Views, joins and splits as ONNX nodes."""
from __future__ import annotations

from math import prod
from typing import Any

import retrograd as torch
from retrograd.onnx._builder import INT64_MAX, Builder, Value, converts, name_of


@converts("view", "_unsafe_view", "reshape", "_reshape_alias", "view_copy", view=True)
def view(g: Builder, out: Any, self: Any, size: Any, *args: Any) -> str:
    return g.reshape(self, size)


@converts("flatten", view=True)
def flatten(g: Builder, out: Any, self: Any, start_dim: int = 0, end_dim: int = -1) -> str:
    return g.reshape(self, [*out.shape[:start_dim], -1, *out.shape[start_dim + 1:]])


@converts("transpose", view=True)
def transpose(g: Builder, out: Any, self: Any, dim0: int, dim1: int) -> str:
    return g.transpose(self, self.rank, dim0, dim1)


@converts("t", view=True)
def t(g: Builder, out: Any, self: Any) -> str:
    return g.transpose(self, 2, 0, 1) if self.rank == 2 else g.op("Identity", self)


@converts("permute", view=True)
def permute(g: Builder, out: Any, self: Any, dims: Any) -> str:
    return g.op("Transpose", self, perm=[dim % self.rank for dim in dims])


@converts("unsqueeze", view=True)
def unsqueeze(g: Builder, out: Any, self: Any, dim: int) -> str:
    return g.unsqueeze(self, [dim % out.dim()])


@converts("squeeze", view=True)
def squeeze(g: Builder, out: Any, self: Any, dim: Any = None) -> str:
    dims = range(self.rank) if dim is None else [dim] if isinstance(dim, int) else dim
    return g.squeeze(self, [d % self.rank for d in dims if self.shape[d] == 1])


@converts("expand", view=True)
def expand(g: Builder, out: Any, self: Any, size: Any, implicit: bool = False) -> str:
    return g.op("Expand", self, g.ints([1 if isinstance(n, int) and n == -1 else n for n in size]))


@converts("slice", view=True)
def slice_(g: Builder, out: Any, self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> str:
    whole = (start is None or start == 0) and (end is None or isinstance(end, int) and end >= INT64_MAX)
    if whole and step == 1:
        return g.op("Identity", self)
    return g.slice(self, dim, 0 if start is None else start, INT64_MAX if end is None else end, step)


@converts("narrow", view=True)
def narrow(g: Builder, out: Any, self: Any, dim: int, start: int, length: int) -> str:
    return g.slice(self, dim, start, start + length)


@converts("select", view=True)
def select(g: Builder, out: Any, self: Any, dim: int, index: Any) -> str:
    if isinstance(index, Value):
        return g.squeeze(g.op("Gather", self, index, axis=dim), [dim % self.rank])
    return g.op("Gather", self, g.constant(index), axis=dim)


@converts("diagonal", view=True)
def diagonal(g: Builder, out: Any, self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> str:
    first, second = dim1 % self.rank, dim2 % self.rank
    order = [*[axis for axis in range(self.rank) if axis not in (first, second)], first, second]
    moved = g.op("Transpose", self, perm=order)
    count = out.shape[-1]
    rows = torch.arange(count) + max(-offset, 0)
    flat = rows * self.shape[second] + torch.arange(count) + max(offset, 0)
    return g.op("Gather", g.reshape(moved, [*out.shape[:-1], -1]), g.constant(flat), axis=-1)


@converts("cat", "concat")
def cat(g: Builder, out: Any, tensors: Any, dim: int = 0) -> str:
    kept = [tensor for tensor in tensors if tuple(tensor.shape) != (0,)] or tensors[:1]
    return g.op("Concat", *[g.typed(tensor, out.dtype) for tensor in kept], axis=dim)


@converts("stack")
def stack(g: Builder, out: Any, tensors: Any, dim: int = 0) -> str:
    axis = dim % out.dim()
    return g.op("Concat", *[g.unsqueeze(g.typed(tensor, out.dtype), [axis]) for tensor in tensors], axis=axis)


@converts("split", "unsafe_split", "chunk", "split_with_sizes", "unsafe_split_with_sizes", "unsafe_chunk", "tensor_split",
          view=True)
def split(g: Builder, out: Any, self: Any, sizes: Any, dim: int = 0) -> Any:
    return g.split(self, [part.shape[dim] for part in out], dim)


@converts("unbind", view=True)
def unbind(g: Builder, out: Any, self: Any, dim: int = 0) -> Any:
    return tuple([g.op("Gather", self, g.constant(i), axis=dim) for i in range(len(out))])


@converts("repeat")
def repeat(g: Builder, out: Any, self: Any, repeats: Any) -> str:
    added = [*range(len(repeats) - self.rank)]
    return g.op("Tile", g.unsqueeze(self, added) if added else self, g.ints(repeats))


@converts("flip")
def flip(g: Builder, out: Any, self: Any, dims: Any) -> str:
    count = len(dims)
    return g.op("Slice", self, g.constant([-1] * count), g.constant([-INT64_MAX] * count), g.constant(list(dims)),
                g.constant([-1] * count))


@converts("roll")
def roll(g: Builder, out: Any, self: Any, shifts: Any, dims: Any = ()) -> str:
    if not dims:
        flat = roll(g, out, Value(g.reshape(self, [-1]), self.example.reshape(-1)), shifts, [0])
        return g.op("Reshape", flat, g.op("Shape", self))
    result = name_of(self)
    for shift, dim in zip(shifts, dims, strict=True):
        cut = -(shift % max(self.shape[dim], 1))
        if cut:
            result = g.op("Concat", g.slice(result, dim, cut, INT64_MAX), g.slice(result, dim, 0, cut), axis=dim)
    return result if result != name_of(self) else g.op("Identity", self)


@converts("constant_pad_nd", "pad")
def constant_pad_nd(g: Builder, out: Any, self: Any, pad: Any, value: Any = 0, mode: str = "constant") -> str:
    missing = self.rank - len(pad) // 2
    before = [0] * missing + list(pad[0::2])[::-1]
    after = [0] * missing + list(pad[1::2])[::-1]
    filler = g.constant(value, out.dtype) if mode == "constant" else None
    return g.op("Pad", self, g.ints([*before, *after]), filler, mode=mode)


@converts("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(g: Builder, out: Any, self: Any, padding: Any) -> str:
    return constant_pad_nd(g, out, self, padding, mode="reflect")


@converts("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(g: Builder, out: Any, self: Any, padding: Any) -> str:
    return constant_pad_nd(g, out, self, padding, mode="edge")


@converts("pixel_shuffle")
def pixel_shuffle(g: Builder, out: Any, self: Any, upscale_factor: int) -> str:
    return g.op("DepthToSpace", self, blocksize=upscale_factor, mode="CRD")


@converts("pixel_unshuffle")
def pixel_unshuffle(g: Builder, out: Any, self: Any, downscale_factor: int) -> str:
    r = downscale_factor
    *batch, channels, height, width = self.shape
    parts = g.reshape(self, [-1, channels, height // r, r, width // r, r])
    moved = g.op("Transpose", parts, perm=[0, 1, 3, 5, 2, 4])
    return g.reshape(moved, [-1 if len(batch) == 1 else prod(batch), channels * r * r, height // r, width // r])


@converts("unfold", view=True)
def unfold(g: Builder, out: Any, self: Any, dimension: int, size: int, step: int) -> str:
    axis = dimension % self.rank
    starts = torch.arange(out.shape[axis]) * step
    windows = g.op("Gather", self, g.constant(starts[:, None] + torch.arange(size)), axis=axis)
    order = [*[i for i in range(self.rank + 1) if i != axis + 1], axis + 1]
    return g.op("Transpose", windows, perm=order)


def triangle(g: Builder, out: Any, self: Any, diagonal: int, upper: int) -> str:
    return g.op("Trilu", self, g.constant(diagonal), upper=upper)


@converts("tril")
def tril(g: Builder, out: Any, self: Any, diagonal: int = 0) -> str:
    return triangle(g, out, self, diagonal, 0)


@converts("triu")
def triu(g: Builder, out: Any, self: Any, diagonal: int = 0) -> str:
    return triangle(g, out, self, diagonal, 1)
