"""Subscripts: `x[...]` as views and the op `index`, `x[...] = value` as copies and `index_put_`."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import indexing
from retrograd.core.api import overridden
from retrograd.core.arguments import type_name
from retrograd.core.dispatch import call, is_ordinary, make_view
from retrograd.core.dtypes import int64
from retrograd.core.hooks import hooks
from retrograd.core.indexing import parse_index
from retrograd.core.kernels import check_writable
from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_SPARSE, FLAG_WRAPPER, FUNCTIONS_BY_NAME, Tensor, bump, new_tensor, wants_grad
from retrograd.ops import late
from retrograd.ops.indexing.index import INT64, index_put_
from retrograd.ops.indexing.index import index as index_op
from retrograd.ops.memory.copy import alias
from retrograd.ops.shared.numbers import number_array
from retrograd.ops.views.slicing import select, slice_

ndarray = np.ndarray
LAST = 2**63 - 1                       # the value of an open slice end


# ---- x[...]
def select_at(self: Any, dim: int, position: int, named_dim: int) -> Any:
    array = self.array
    shape = array.shape
    size = shape[dim] if dim < len(shape) else 0
    if not -size <= position < size:
        if not shape and position == 0:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
                             "C++ to convert a 0-dim tensor to a number")
        raise IndexError(f"index {position} is out of bounds for dimension {named_dim} with size {size}")
    args = [self, dim, position]
    return call(select, args)


def slice_at(self: Any, dim: int, item: slice, keep_whole: bool) -> Any:
    """`self` sliced along one dimension; with `keep_whole` a full slice returns `self`."""
    array = self.array
    size = array.shape[dim]
    start, stop, step = item.start, item.stop, item.step
    if type(start) is not int:
        start = 0 if start is None else indexing._bound(start)
    if type(stop) is not int:
        stop = LAST if stop is None else indexing._bound(stop)
    if type(step) is not int:
        step = 1 if step is None else indexing._bound(step)
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    if keep_whole and start == 0 and stop >= size and step == 1:
        return self
    args = [self, dim, start, stop, step]
    return call(slice_, args)


BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def basic_views(self: Any, items: Any) -> Any:
    """Apply ints, slices, None and Ellipsis as successive views; `self` itself if they change nothing."""
    specified = 0
    for item in items:
        if type(item) is int or type(item) is slice:
            specified += 1
    rank = self.array.ndim
    if specified > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    result = self
    dim = 0
    for position, item in enumerate(items):
        if type(item) is int:
            result = select_at(result, dim, item, position)
        elif type(item) is slice:
            if dim >= result.array.ndim:
                return None
            result = slice_at(result, dim, item, True)
            dim += 1
        elif item is None:
            if dim > result.array.ndim:
                return None
            result = result.unsqueeze(dim)
            dim += 1
        else:
            dim += rank - specified
    return result


def views_and_tensors(self: Any, items: Any) -> Any:
    """`sliced` for ints, slices, None, Ellipsis and plain tensors of positions; None for any other item."""
    specified = 0
    for item in items:
        if type(item) is Tensor:
            if item._flags or item.array.dtype is not INT64 or not item.array.ndim:
                return None
            specified += 1
        elif type(item) is int or type(item) is slice:
            specified += 1
        elif item is not None and item is not Ellipsis:
            return None
    rank = self.array.ndim
    if specified > rank:
        return None                         # the parser has the words for it
    result = self
    tensors: list[Any] = []
    dim = 0
    for position, item in enumerate(items):
        if type(item) is Tensor:
            while len(tensors) < dim:
                tensors.append(None)
            tensors.append(item)
            dim += 1
        elif type(item) is int:
            result = select_at(result, dim, item, position)
        elif type(item) is slice:
            if dim >= result.array.ndim:
                return None
            result = slice_at(result, dim, item, True)
            dim += 1
        elif item is None:
            if dim > result.array.ndim:
                return None
            result = result.unsqueeze(dim)
            dim += 1
        else:
            dim += rank - specified
    return result, tensors


def follow(self: Any, steps: Any) -> Any:
    """Apply the view steps of `parse_index`."""
    result = self
    for step in steps:
        if step[0] == "select":
            result = select_at(result, step[1], step[2], step[1])
        elif step[0] == "slice":
            result = slice_at(result, step[1], slice(*step[2:]), False)
        else:
            result = result.unsqueeze(step[1])
    return result


def sliced(self: Any, index: Any) -> tuple[Any, Any]:
    """The result of the view part of an index on `self`, and the remaining index tensors."""
    if type(index) is tuple:
        if BASIC.issuperset(map(type, index)):
            result = basic_views(self, index)
            if result is not None:
                return result, None
        else:
            both = views_and_tensors(self, index)
            if both is not None:
                return both
    steps, tensors = parse_index(self.array.shape, index)
    result = follow(self, steps)
    if tensors is not None:
        for k, entry in enumerate(tensors):
            if type(entry) is bool:
                tensors[k] = positions_of(result, entry)
    return result, tensors


def positions_of(self: Any, value: bool) -> Any:
    """The positions that a bool picks of a dimension of size 1."""
    if self._flags & FLAG_SPARSE or switches.any_mode and tls.dispatch_modes:        # made by ops that can be seen
        made = late.empty((int(value),), dtype=int64, layout=self.layout)
        return late.fill_(made, 0) if value else made
    return new_tensor(np.zeros(int(value), np.int64))


def getitem(self: Any, index: Any) -> Any:
    """`self[index]`."""
    if (switches.any_mode or self._flags) and overridden((self, index), {}):
        return hooks.torch_function(Tensor.__getitem__, (self, index), {})
    kind = type(index)
    if kind is int:
        return select_at(self, 0, index, 0)
    if kind is slice:
        if not self.array.ndim:
            raise no_slices(self, index)
        return slice_at(self, 0, index, False)
    if index is None:
        return self.unsqueeze(0)
    if index is Ellipsis:
        return whole(self)
    if is_index_tensor(self, index):
        return call(index_op, [self, [index]])
    if kind is not tuple and not isinstance(index, Tensor) and hasattr(index, "__torch_function__"):
        return hooks.torch_function(Tensor.__getitem__, (self, index), {})
    result, tensors = sliced(self, index)
    if tensors is not None:
        return call(index_op, [result, tensors])
    return whole(self) if result is self else result


def no_slices(self: Any, index: Any) -> Exception:
    """The error for slicing a 0-d tensor; under vmap PyTorch's error is about the batched tensor."""
    if type(index.step) is int and index.step <= 0:
        return ValueError("step must be greater than zero")
    if self._flags & FLAG_WRAPPER and getattr(self._extra.batch, "dim", None) is not None:
        return IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    return IndexError("slice() cannot be applied to a 0-dim tensor.")


def whole(self: Any) -> Any:
    return make_view(alias, self, (), self.array[...]) if is_ordinary(self) else call(alias, [self])


def is_index_tensor(self: Any, index: Any) -> bool:
    """Whether `index` is a tensor of positions or a mask that needs no parsing."""
    if type(index) is not Tensor:
        return False
    array = index.array
    return 0 < array.ndim and (array.dtype is INT64 and self.array.ndim > 0
                               or array.dtype.kind == "b" and array.ndim <= self.array.ndim)


# ---- x[...] = value
def setitem(self: Any, index: Any, value: Any) -> None:
    """`self[index] = value`."""
    if (switches.any_mode or self._flags or isinstance(value, Tensor)) and overridden((self, index, value), {}):
        hooks.torch_function(Tensor.__setitem__, (self, index, value), {})
        return
    if (not isinstance(value, (Tensor, int, float, complex)) and hasattr(value, "__torch_function__")
            or not isinstance(index, (Tensor, int, slice, tuple)) and hasattr(index, "__torch_function__")):
        hooks.torch_function(Tensor.__setitem__, (self, index, value), {})
        return
    if self._flags & FLAG_SPARSE and not self.is_nested:
        raise TypeError("Cannot assign to a sparse tensor")
    kind = type(index)
    if (kind is int or kind is slice or kind is tuple) and write_number(self, index, value):
        return
    value = as_value(self, value)
    if index is False:
        return
    if kind is int:
        assign(select_at(self, 0, index, 0), value)
    elif kind is slice:
        if not self.array.ndim:
            raise no_slices(self, index)
        assign(slice_at(self, 0, index, True), value)
    elif index is Ellipsis:
        assign(self, value)
    elif index is None or index is True:
        assign(self.unsqueeze(0), value)
    else:
        result, tensors = (self, [index]) if is_index_tensor(self, index) else sliced(self, index)
        if tensors is None:
            assign(result, value)
        else:
            shape = without_leading_ones(value.array.shape)
            call(index_put_, [result, tensors, value if len(shape) == value.array.ndim else value.view(shape), False])


def write_number(self: Any, index: Any, value: Any) -> bool:
    """Write a number directly to memory where nothing is recorded; False if the call is not of that form."""
    array = self.array
    kind = type(value)
    if (kind is not float and kind is not int or not -LIMIT <= value <= LIMIT or not is_ordinary(self) or wants_grad(self)
            or array.dtype not in WIDE_FLOATS or not array.ndim or 0 in array.strides or not array.flags.writeable):
        return False
    for item in index if type(index) is tuple else (index,):
        if type(item) is slice:
            if type(item.start) not in SIMPLE or type(item.stop) not in SIMPLE or item.step is not None:
                return False
        elif type(item) is not int:
            return False
    try:
        array[index] = value
    except IndexError:
        return False
    bump(self)
    return True


SIMPLE = frozenset({int, type(None)})
LIMIT = 2.0**53          # up to here ints are exact as floats, and every float fits every dtype
WIDE_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def as_value(self: Any, value: Any) -> Any:
    """The right-hand side as a tensor; numbers become 0-d tensors of the dtype of `self`."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.generic) and (value.dtype.kind in "iu" or isinstance(value, (float, complex))):
        value = value.item()
    elif not isinstance(value, (int, float, complex)):
        raise TypeError(f"can't assign a {type_name(value)} to a torch.{self.dtype.legacy}Tensor")
    dtype = self.array.dtype
    if dtype.itemsize == 2 and dtype.kind in "fV":      # half precision is not checked for overflow
        return fresh(number_array(value, np.dtype(np.float64)).astype(dtype))
    return fresh(number_array(value, dtype))


def fresh(array: Any) -> Any:
    """A tensor from the program's data, created by an op that dispatch modes see."""
    made = new_tensor(array)
    return hooks.lifted(made) if switches.any_mode and tls.dispatch_modes else made


def assign(target: Any, value: Any) -> None:
    """Write `value` over all of `target`, a view or the tensor itself."""
    shape, wanted = value.array.shape, target.array.shape
    if shape == wanted:
        late.copy_(target, value)
    elif not shape:
        if not target._flags:
            check_writable(target.array)
        late.fill_(target, value)
    else:
        late.copy_(target, value.view(without_leading_ones(shape)).expand(wanted))


def without_leading_ones(shape: Any) -> Any:
    return shape[next((k for k, n in enumerate(shape) if n != 1), len(shape)):]


def as_index_tensor(value: Any) -> Any:
    """A list, range or array in an index as a tensor: bools and bytes stay masks, all else becomes int64."""
    if not isinstance(value, ndarray):
        try:
            value = np.asarray([] if isinstance(value, range) and not value else value)
        except ValueError:
            value = late.tensor(value).array
        if value.dtype.kind == "O":
            value = late.tensor(value.tolist()).array
    return fresh(value if value.dtype.kind == "b" or value.dtype == np.uint8 else value.astype(INT64))


indexing.as_index_tensor = as_index_tensor
FUNCTIONS_BY_NAME["__getitem__"] = getitem
FUNCTIONS_BY_NAME["__setitem__"] = setitem
