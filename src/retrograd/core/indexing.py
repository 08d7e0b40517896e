"""Index expressions: turns the index of ``x[...]`` into view steps plus the index tensors of advanced indexing.

NOTE [Parsing an index]
Ints, slices, None and Ellipsis become steps: select, slice and unsqueeze, applied in order, each naming a dimension of
the tensor as the steps before it left it. Index tensors (and lists, ranges and arrays, which are turned into index
tensors) are collected per dimension, for ``aten::index`` to apply after all the steps. A mask of n
dimensions covers n of them but is one entry of the list. Bools are masks of no dimension: they add one of size 1 or 0,
and stay bools in the list.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from retrograd.core import convert
from retrograd.core.arguments import type_name
from retrograd.core.tensor import FLAG_WRAPPER

Step = tuple[Any, ...]

# Longer lists are always one index tensor: NumPy once allowed no more dimensions than this.
_MAX_TUPLE_LIKE: Final = 32
_MASK_DTYPES: Final = frozenset({"bool", "uint8"})
_SELECT_DTYPES: Final = frozenset({"int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"})

_SEQUENCE_WARNING: Final = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use"
    " x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)],"
    " which will result either in an error or a different result"
)


def as_index_tensor(value: Any) -> Any:
    """Convert a list, a range or an array to an index tensor; the tensor module replaces this.

    Bools make a bool tensor; any other numbers, floats too, make an int64 one, and so does an empty list.
    """
    raise NotImplementedError("no tensor module has installed as_index_tensor")


def parse_index(shape: tuple[int, ...], index: Any) -> tuple[list[Step], list[Any] | None]:
    """The view steps for an index into a tensor of this shape, and the index tensors to apply after them, if any."""
    kind = type(index)
    if kind is int:
        return [_select(shape, 0, index, 0)], None
    if kind is slice:
        if not shape:
            if type(index.step) is int and index.step <= 0:
                raise ValueError("step must be greater than zero")
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        step = _slice(shape[0], 0, index)
        return ([] if step is None else [step]), None
    if index is None:
        return [("unsqueeze", 0)], None
    if index is Ellipsis:
        return [], None
    if isinstance(index, np.integer):
        return [_select(shape, 0, int(index), 0)], None
    return _Parser(shape, _as_items(index)).parse()


class _Parser:
    """Walks over the items of an index, keeping track of the tensor's shape as the steps change it."""

    def __init__(self, shape: tuple[int, ...], items: Sequence[Any]) -> None:
        self.shape = list(shape)
        self.items = items
        self.dim = 0
        self.position = 0  # position of the item in the index, "dimension" in error messages
        self.steps: list[Step] = []
        self.tensors: dict[int, Any] = {}

    def parse(self) -> tuple[list[Step], list[Any] | None]:
        specified = sum(map(_dims_used, self.items))
        rank = len(self.shape)
        if specified > rank:
            raise IndexError(f"too many indices for tensor of dimension {rank}")
        for position, item in enumerate(self.items):
            self.position = position
            if item is Ellipsis:
                self.dim += rank - specified
            else:
                self.add(item)
        return self.steps, self.index_list()

    def add(self, item: Any) -> None:
        if type(item) is int:
            self.add_select(item)
        elif isinstance(item, slice):
            self.add_slice(item)
        elif item is None:
            self.add_unsqueeze()
            self.dim += 1
        elif item is True or item is False:
            self.add_bool(item)
        elif convert.is_tensor(item):
            self.add_tensor(item)
        elif isinstance(item, (np.ndarray, Sequence)):
            self.add_tensor(_to_index_tensor(item))
        else:
            self.add_select(_to_int(item))

    def add_select(self, position: int) -> None:
        self.steps.append(_select(self.shape, self.dim, position, self.position))
        del self.shape[self.dim]

    def add_slice(self, item: slice) -> None:
        rank = len(self.shape)
        past_end = self.dim >= rank  # possible after a second Ellipsis; a full slice is still allowed there
        step = _slice(0 if past_end else self.shape[self.dim], self.dim, item)
        if step is not None:
            if past_end:
                raise dim_error(self.dim, rank)
            self.steps.append(step)
            _, dim, start, stop, stride = step
            self.shape[dim] = -(-(stop - start) // stride)
        self.dim += 1

    def add_unsqueeze(self) -> None:
        rank = len(self.shape)
        if self.dim > rank:
            raise dim_error(self.dim, rank + 1)
        self.steps.append(("unsqueeze", self.dim))
        self.shape.insert(self.dim, 1)

    def add_bool(self, value: bool) -> None:
        """Add a dimension of size 1 (True) or 0 (False)."""
        self.add_unsqueeze()
        self.tensors[self.dim] = value          # made a tensor after the steps
        self.dim += 1

    def add_tensor(self, tensor: Any) -> None:
        dtype = tensor.dtype.name
        rank = len(tensor.shape)
        if rank == 0 and dtype in _MASK_DTYPES:
            try:
                value = bool(tensor.item())
            except RuntimeError as error:
                if not getattr(error, "no_number", False):
                    raise
                raise RuntimeError("vmap: We do not support batching operators that can support dynamic shape. Attempting to "
                                   "batch over indexing with a boolean mask.") from None
            self.add_bool(value)
        elif rank == 0 and dtype in _SELECT_DTYPES and not getattr(tensor, "_flags", 0) & FLAG_WRAPPER:
            self.add_select(int(tensor.item()))     # a batched tensor has no single value and stays a tensor
        else:
            self.tensors[self.dim] = tensor
            self.dim += rank if dtype in _MASK_DTYPES else 1

    def index_list(self) -> list[Any] | None:
        """One entry for each dimension up to the last index tensor; a mask has one entry for all dimensions that it
        covers."""
        if not self.tensors:
            return None
        entries: list[Any] = []
        dim = 0
        last = max(self.tensors)
        while dim <= last:
            tensor = self.tensors.get(dim)
            entries.append(tensor)
            if tensor is not None and type(tensor) is not bool and tensor.dtype.name in _MASK_DTYPES:
                dim += len(tensor.shape)
                if dim > len(self.shape):
                    # A mask inside a list was counted as one dimension, before its rank was known.
                    raise IndexError(f"too many indices for tensor of dimension {len(self.shape)}")
            else:
                dim += 1
        return entries


def _as_items(index: Any) -> Sequence[Any]:
    """The items of a tuple, or of a list that PyTorch (still) reads as one; anything else is a single item."""
    if isinstance(index, tuple):
        return index
    if not isinstance(index, Sequence) or len(index) >= _MAX_TUPLE_LIKE:
        return (index,)
    if any(_makes_tuple_like(item) for item in index):
        warnings.warn(_SEQUENCE_WARNING, UserWarning, stacklevel=4)
        return index
    return (index,)


def _makes_tuple_like(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, (slice, Sequence, np.ndarray)):
        return True
    return convert.is_tensor(item)


def _dims_used(item: Any) -> int:
    if type(item) is int or type(item) is slice:
        return 1
    if item is None or item is Ellipsis or item is True or item is False:
        return 0
    if convert.is_tensor(item) and item.dtype.name in _MASK_DTYPES:
        return len(item.shape)
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == np.bool_ else 1


def _to_index_tensor(value: Any) -> Any:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    return as_index_tensor(value)


def _to_int(item: Any) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type_name(item)})"
        ) from None


def dim_error(dim: int, rank: int) -> IndexError:
    return IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")


def _select(shape: Sequence[int], dim: int, position: int, named_dim: int) -> Step:
    """``named_dim`` is the dimension's name in errors."""
    size = shape[dim] if dim < len(shape) else 0
    if not -size <= position < size:
        if not shape and position == 0:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        raise IndexError(f"index {position} is out of bounds for dimension {named_dim} with size {size}")
    return ("select", dim, position + size if position < 0 else position)


def _slice(size: int, dim: int, item: slice) -> Step | None:
    """The step for a slice, its bounds clamped to the dimension; None when it selects the whole dimension."""
    start, stop, step = _bound(item.start), _bound(item.stop), _bound(item.step)
    if step is not None and step < 0:
        raise ValueError("step must be greater than zero")
    first, last, stride = slice(start, stop, step).indices(size)
    if first == 0 and last == size and stride == 1 and (start is None or start >= 0):
        return None
    return ("slice", dim, first, max(first, last), stride)


def _bound(value: Any) -> int | None:
    if value is None or type(value) is int:
        return value
    if convert.is_tensor(value):
        if value.numel() != 1 or value.dtype.name not in _SELECT_DTYPES | _MASK_DTYPES:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(value.item())
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None
