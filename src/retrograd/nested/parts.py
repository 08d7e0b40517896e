"""What a nested tensor is: tensors of different shapes over one piece of memory, as one tensor.

NOTE [Nested tensors]
A nested tensor carries FLAG_SPARSE: its `array` is not the data, so nothing takes it by the short way. The array is a
stand-in of the padded shape (the number of parts, then the greatest length along each dimension) over one element; it
answers questions about dimensions and dtype. The data lies in `_extra.sparse`: a `Nested`, which holds the memory and an
array over it for every part. Everything that only nested tensors need is put in place when `retrograd.nested` is
imported, so programs without them pay nothing: the kernels (kernels.py), other formulas for some ops (formulas.py) and
what tensors answer to questions about their geometry (answers.py).

In the jagged layout only one dimension differs from part to part. Its length is a symbol, which all results of ops on
the tensor share, so that their shapes are known to be the same (`Ragged`).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_SPARSE, Tensor, extra_of, new_tensor
from retrograd.nested.symbols import SymInt
from retrograd.ops.memory.copy import jagged, strided


class Ragged:
    """The one dimension of jagged tensors whose length differs: where the parts begin and end, and a symbol for it."""

    __slots__ = ("offsets", "symbol")

    def __init__(self, offsets: Any) -> None:
        self.offsets = offsets        # a tensor
        self.symbol = SymInt()


class Nested:
    """The data of a nested tensor."""

    __slots__ = ("arrays", "axis", "memory", "ragged", "rank")

    is_nested = True

    def __init__(self, memory: Any, arrays: list[Any], rank: int, ragged: Ragged | None = None, axis: int = 0) -> None:
        self.memory = memory          # one-dimensional
        self.arrays = arrays          # one for every part, over the memory
        self.rank = rank              # of the parts
        self.ragged = ragged          # in the jagged layout
        self.axis = axis              # the ragged dimension of the parts

    @property
    def layout(self) -> Any:
        return strided if self.ragged is None else jagged

    def copy(self) -> Nested:
        return Nested(self.memory, list(self.arrays), self.rank, self.ragged, self.axis)

    @property
    def is_contiguous(self) -> bool:
        """Whether the parts lie one after the other, each of them contiguous."""
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


def wrap_parts(memory: Any, arrays: list[Any], rank: int, ragged: Ragged | None = None, axis: int = 0) -> Any:
    """A nested tensor on arrays that lie in `memory`."""
    lengths = [max([array.shape[d] for array in arrays], default=0) for d in range(rank)]
    shape = (len(arrays), *lengths)
    array = StandIn(shape, memory.dtype, np.zeros(1, memory.dtype), 0, (0,) * len(shape))
    if ragged is not None:
        array.symbolic = (len(arrays), *lengths[:axis], ragged.symbol, *lengths[axis + 1:])
    array.count = sum([int(part.size) for part in arrays])
    t = new_tensor(array)
    t._flags = FLAG_SPARSE
    if switches.any_mode and tls.inference:
        t._flags |= FLAG_INFERENCE
    extra_of(t).sparse = Nested(memory, arrays, rank, ragged, axis)
    return t


def pack(arrays: Sequence[Any], dtype: Any = None, rank: int | None = None, ragged: Ragged | None = None, axis: int = 0) -> Any:
    """A nested tensor with copies of the arrays, one after the other."""
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
    return wrap_parts(memory, made, rank, ragged, axis)


def pack_like(source: Any, arrays: Sequence[Any], dtype: Any, rank: int | None = None, axis: int | None = None) -> Any:
    """`pack` for parts that are as ragged as those of `source`."""
    data = source._extra.sparse
    return pack(arrays, dtype, data.rank if rank is None else rank, data.ragged, data.axis if axis is None else axis)


def sizes_of(t: Any) -> Any:
    """The shapes of the parts as the rows of a matrix."""
    data = t._extra.sparse
    return np.array([array.shape for array in data.arrays], np.int64).reshape(len(data.arrays), data.rank)


def same_sizes(a: Any, b: Any) -> bool:
    return [x.shape for x in arrays_of(a)] == [x.shape for x in arrays_of(b)]
