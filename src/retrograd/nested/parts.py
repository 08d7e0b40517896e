"""What a nested tensor is: tensors of different shapes over one piece of memory, as one tensor.

NOTE [Nested tensors]
A nested tensor carries FLAG_SPARSE: its `array` is not the data, so nothing takes it by the short way. The array is a
stand-in of the padded shape (the number of parts, then the greatest length along each dimension) over one element; it
answers questions about dimensions and dtype. The data lies in `_extra.sparse`: a `Nested`, which holds the memory and an
array over it for every part. Everything that only nested tensors need is put in place when `retrograd.nested` is
imported, so programs without them pay nothing: the kernels (kernels.py), other formulas for some ops (formulas.py) and
what tensors answer to questions about their geometry (answers.py).

In the jagged layout only one dimension differs from part to part. The parts are slices of one array along it, `whole`, on
which most ops run at once; between the parts there may be holes. The ragged length is a symbol, which all results of ops on
the tensor share, so that their shapes are known to be the same (`Ragged`).
"""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_SPARSE, Tensor, extra_of, new_tensor
from retrograd.nested.symbols import SymInt
from retrograd.ops.memory.copy import jagged, strided


class Ragged:
    """The one dimension of jagged tensors whose length differs: where the parts begin and how long they are."""

    __slots__ = ("lengths", "offsets", "range", "symbol")

    def __init__(self, offsets: Any, lengths: Any = None, least: int | None = None, most: int | None = None) -> None:
        self.offsets = offsets        # a tensor
        self.lengths = lengths        # a tensor, where there are holes between the parts
        self.symbol = symbol_of(offsets if lengths is None else lengths)
        self.range: Any = (least, most)    # of the lengths, once given or computed

    def spans(self) -> list[tuple[int, int]]:
        """Where every part begins and ends."""
        starts = self.offsets.array[:-1].tolist()
        ends = self.offsets.array[1:].tolist() if self.lengths is None else \
            [start + n for start, n in zip(starts, self.lengths.array.tolist(), strict=True)]
        return list(zip(starts, ends, strict=True))

    def counts(self) -> list[int]:
        """The length of every part."""
        return [end - start for start, end in self.spans()]

    @property
    def least(self) -> int:
        """The length of the shortest part, known from now on."""
        if self.range[0] is None:
            self.range = (min(self.counts(), default=0), self.range[1])
        return self.range[0]

    @property
    def most(self) -> int:
        """The length of the longest part, known from now on."""
        if self.range[1] is None:
            self.range = (self.range[0], max(self.counts(), default=0))
        return self.range[1]


SYMBOLS: dict[int, tuple[Any, SymInt]] = {}        # by the id of a tensor that lives


def symbol_of(lengths: Any) -> SymInt:
    """The symbol for what a tensor of offsets or lengths says: the same whenever that tensor is used."""
    key = id(lengths)
    known = SYMBOLS.get(key)
    if known is None or known[0]() is not lengths:
        known = SYMBOLS[key] = weakref.ref(lengths, lambda dead: SYMBOLS.pop(key, None)), SymInt()
    return known[1]


class Nested:
    """The data of a nested tensor."""

    __slots__ = ("arrays", "axis", "memory", "ragged", "rank", "whole")

    is_nested = True

    def __init__(self, memory: Any, arrays: list[Any], rank: int, ragged: Ragged | None = None, axis: int = 0,
                 whole: Any = None) -> None:
        self.memory = memory          # the array that owns it, or a view of that
        self.arrays = arrays          # one for every part, over the memory
        self.rank = rank              # of the parts
        self.ragged = ragged          # in the jagged layout
        self.axis = axis              # the ragged dimension of the parts
        self.whole = whole            # in the jagged layout: what the parts are slices of

    @property
    def layout(self) -> Any:
        return strided if self.ragged is None else jagged

    def copy(self) -> Nested:
        return Nested(self.memory, list(self.arrays), self.rank, self.ragged, self.axis, self.whole)

    @property
    def is_contiguous(self) -> bool:
        """Whether the parts lie one after the other, each of them contiguous."""
        if self.ragged is not None:
            return self.ragged.lengths is None and bool(self.whole.flags.c_contiguous)
        at = self.memory.__array_interface__["data"][0]
        for array in self.arrays:
            if array.size and (array.__array_interface__["data"][0] != at or not array.flags.c_contiguous):
                return False
            at += array.nbytes
        return True


def is_nested(t: Any) -> bool:
    return isinstance(t, Tensor) and bool(t._flags & FLAG_SPARSE) and type(t._extra.sparse) is Nested


def arrays_of(t: Any) -> list[Any]:
    return t._extra.sparse.arrays


def is_jagged(t: Any) -> bool:
    return is_nested(t) and t._extra.sparse.ragged is not None


class PaddedShape(tuple[int, ...]):
    """The padded shape of a nested tensor, which graph nodes keep; `symbolic` is the one that users see."""

    symbolic: Any


class StandIn(np.ndarray):
    """The array of a nested tensor: a geometry without data."""

    symbolic: Any = None
    count: int = 0

    @property  # type: ignore[misc]
    def size(self) -> int:
        return self.count

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        made = PaddedShape(np.ndarray.shape.__get__(self))  # type: ignore[attr-defined]
        made.symbolic = self.symbolic
        return made


def wrap_parts(memory: Any, arrays: list[Any], rank: int) -> Any:
    """A nested tensor of the strided layout on arrays that lie in `memory`."""
    lengths = [max([array.shape[d] for array in arrays], default=0) for d in range(rank)]
    return wrap(Nested(memory, arrays, rank), lengths)


def wrap_jagged(whole: Any, ragged: Ragged, axis: int) -> Any:
    """A jagged tensor whose parts are slices of `whole` along `axis`."""
    before = (slice(None),) * axis
    arrays = [whole[(*before, slice(start, end))] for start, end in ragged.spans()]
    lengths = list(whole.shape)
    lengths[axis] = max([array.shape[axis] for array in arrays], default=0)
    return wrap(Nested(whole, arrays, whole.ndim, ragged, axis, whole), lengths)


def wrap(data: Nested, lengths: list[int]) -> Any:
    """A tensor with this data; the lengths are those of the greatest part."""
    shape, dtype = (len(data.arrays), *lengths), data.memory.dtype
    array = StandIn(shape, dtype, np.zeros(1, dtype), 0, (0,) * len(shape))
    if data.ragged is not None:
        array.symbolic = (len(data.arrays), *lengths[:data.axis], data.ragged.symbol, *lengths[data.axis + 1:])
    array.count = sum([int(part.size) for part in data.arrays])
    t = new_tensor(array)
    t._flags = FLAG_SPARSE
    if switches.any_mode and tls.inference:
        t._flags |= FLAG_INFERENCE
    extra_of(t).sparse = data
    return t


def pack(arrays: Sequence[Any], dtype: Any = None, rank: int | None = None) -> Any:
    """A nested tensor of the strided layout with copies of the arrays, one after the other."""
    if rank is None:
        rank = arrays[0].ndim if len(arrays) else 0
    if dtype is None:
        dtype = arrays[0].dtype if len(arrays) else np.dtype(np.float32)
    memory = np.empty(sum([array.size for array in arrays]), dtype)
    made, at = [], 0
    for array in arrays:
        part = memory[at:at + array.size].reshape(array.shape)
        part[...] = array
        made.append(part)
        at += array.size
    return wrap_parts(memory, made, rank)


def pack_like(source: Any, arrays: Sequence[Any], dtype: Any, rank: int | None = None, axis: int | None = None) -> Any:
    """A nested tensor of new parts that are as ragged as those of `source`."""
    data = source._extra.sparse
    if data.ragged is None:
        return pack(arrays, dtype, data.rank if rank is None else rank)
    axis = data.axis if axis is None else axis
    if data.ragged.lengths is None:
        whole = np.concatenate(arrays, axis, dtype=dtype) if len(arrays) else np.empty(data.whole.shape, dtype)
        return wrap_jagged(whole, data.ragged, axis)
    shape = list(arrays[0].shape)
    shape[axis] = data.whole.shape[data.axis]
    made = wrap_jagged(np.zeros(shape, dtype), data.ragged, axis)
    for target, array in zip(arrays_of(made), arrays, strict=True):
        target[...] = array
    return made


def sizes_of(t: Any) -> Any:
    """The shapes of the parts as the rows of a matrix."""
    data = t._extra.sparse
    return np.array([array.shape for array in data.arrays], np.int64).reshape(len(data.arrays), data.rank)


def same_sizes(a: Any, b: Any) -> bool:
    return [x.shape for x in arrays_of(a)] == [x.shape for x in arrays_of(b)]
