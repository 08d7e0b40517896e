"""Gathering and scattering as ONNX nodes."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.onnx._builder import Builder, Value, converts, name_of
from retrograd.onnx.errors import UnsupportedOperatorError


@converts("embedding")
def embedding(g: Builder, out: Any, weight: Any, indices: Any, *args: Any, **kwargs: Any) -> str:
    return g.op("Gather", weight, indices, axis=0)


@converts("index_select")
def index_select(g: Builder, out: Any, self: Any, dim: int, index: Any) -> str:
    return g.op("Gather", self, index, axis=dim)


@converts("gather")
def gather(g: Builder, out: Any, self: Any, dim: int, index: Any, **kwargs: Any) -> str:
    return g.op("GatherElements", self, index, axis=dim)


@converts("scatter")
def scatter(g: Builder, out: Any, self: Any, dim: int, index: Any, src: Any, reduction: str | None = None,
            **kwargs: Any) -> str:
    if not isinstance(src, Value) or src.rank == 0:
        src = g.op("Expand", g.typed(src, out.dtype), g.op("Shape", index))
    elif tuple(src.shape) != tuple(index.shape):        # the rest of the source is not used
        src = g.op("Slice", src, g.constant([0] * src.rank), g.op("Shape", index))
    return g.op("ScatterElements", self, index, src, axis=dim, reduction=reduction)


@converts("scatter_add")
def scatter_add(g: Builder, out: Any, self: Any, dim: int, index: Any, src: Any) -> str:
    return scatter(g, out, self, dim, index, src, "add")


def joined(g: Builder, indices: list[Any]) -> str:
    """Index tensors of several axes, broadcast and side by side in a new last axis."""
    shapes = torch.broadcast_shapes(*[index.shape for index in indices])
    rank = len(shapes)
    common = g.op("Shape", indices[0]) if len(indices) == 1 else None
    if common is None:
        total = name_of(indices[0])
        for index in indices[1:]:                       # the shape that all of them broadcast to
            total = g.op("Add", total, index)
        common = g.op("Shape", total)
    parts = [g.unsqueeze(g.op("Expand", index, common), [rank]) for index in indices]
    return parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=-1)


def numbered(g: Builder, indices: Any) -> list[int]:
    """The axes that have an index tensor, which may not be a mask."""
    if any([isinstance(index, Value) and index.dtype in (torch.bool, torch.uint8) for index in indices]):
        raise UnsupportedOperatorError("an index by a mask has a result whose size depends on values; use where")
    return [axis for axis, index in enumerate(indices) if index is not None]


@converts("index", "_unsafe_index")
def index(g: Builder, out: Any, self: Any, indices: Any) -> str:
    axes = numbered(g, indices)
    given = [Value(g.typed(indices[axis], torch.int64), indices[axis].example) for axis in axes]
    if len(axes) == 1:
        return g.op("Gather", self, given[0], axis=axes[0])
    first = axes[0]
    order = [*axes, *[axis for axis in range(self.rank) if axis not in axes]]
    sizes = g.op("Gather", g.op("Shape", self), g.constant(axes), axis=0)       # ONNX allows negative ones in Gather alone
    places = joined(g, given)
    places = g.op("Where", g.op("Less", places, g.constant(0)), g.op("Add", places, sizes), places)
    found = g.op("GatherND", g.op("Transpose", self, perm=order), places)
    if first and axes == [*range(first, first + len(axes))]:      # adjacent: their place is where the first of them was
        rank = len(torch.broadcast_shapes(*[value.shape for value in given]))
        back = [*range(rank, rank + first), *range(rank), *range(rank + first, out.dim())]
        found = g.op("Transpose", found, perm=back)
    return found


@converts("index_put")
def index_put(g: Builder, out: Any, self: Any, indices: Any, values: Any, accumulate: bool = False) -> str:
    if len(indices) == 1 and indices[0].dtype == torch.bool and values.rank == 0:
        mask = indices[0]
        added = self.rank - mask.rank
        wide = g.unsqueeze(mask, [*range(mask.rank, self.rank)]) if added else mask
        return g.op("Where", wide, g.typed(values, out.dtype), self)
    axes = numbered(g, indices)
    if axes != [*range(len(axes))]:
        raise UnsupportedOperatorError("writing by index tensors is exported for the first axes only")
    places = joined(g, [Value(g.typed(indices[axis], torch.int64), indices[axis].example) for axis in axes])
    lead = torch.broadcast_shapes(*[indices[axis].shape for axis in axes])
    shape = g.ints([*lead, *self.shape[len(axes):]])
    source = g.op("Expand", g.typed(values, out.dtype), shape)
    return g.op("ScatterND", self, places, source, reduction="add" if accumulate else None)


@converts("slice_scatter")
def slice_scatter(g: Builder, out: Any, self: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None,
                  step: int = 1) -> str:
    size = self.shape[dim]
    places = torch.arange(size)[slice(start, end, step)]
    moved = g.transpose(self, self.rank, 0, dim)
    source = g.transpose(g.op("Expand", g.typed(src, out.dtype), g.ints([
        len(places) if axis == dim % self.rank else n for axis, n in enumerate(self.shape)])), self.rank, 0, dim)
    return g.transpose(g.op("ScatterND", moved, g.constant(places[:, None]), source), self.rank, 0, dim)


@converts("select_scatter")
def select_scatter(g: Builder, out: Any, self: Any, src: Any, dim: int, index: int) -> str:
    axis = dim % self.rank
    wide = Value(g.unsqueeze(g.typed(src, out.dtype), [axis]), src.example.unsqueeze(axis))
    at = index % self.shape[axis]
    return slice_scatter(g, out, self, wide, axis, at, at + 1)


@converts("nonzero")
def nonzero(g: Builder, out: Any, self: Any) -> str:
    return g.op("Transpose", g.op("NonZero", self), perm=[1, 0])


@converts("one_hot")
def one_hot(g: Builder, out: Any, self: Any, num_classes: int = -1) -> str:
    return g.op("OneHot", self, g.constant([out.shape[-1]]), g.constant([0, 1]), axis=-1)
