"""Indexing: `x[...]`, `x[...] = value`, and the ops under them that take index tensors (index, index_put)."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from retrograd.core import indexing, lean, storage
from retrograd.core.api import overridden
from retrograd.core.arguments import type_name
from retrograd.core.dispatch import call, call_view, is_ordinary, make_view
from retrograd.core.dtypes import BY_NUMPY, bool_, int64, uint8
from retrograd.core.hooks import hooks
from retrograd.core.indexing import parse_index
from retrograd.core.kernels import broadcast_problem, check_apart, check_writable
from retrograd.core.opdef import OpDef, defop
from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_SPARSE, FLAG_WRAPPER, FUNCTIONS_BY_NAME, Tensor, bump, new_tensor, wants_grad
from retrograd.ops import late
from retrograd.ops.memory.copy import alias, copied
from retrograd.ops.shared import families
from retrograd.ops.shared.along import add_flat, keep, nonzero, put_rows, take_rows
from retrograd.ops.shared.elementwise import overflow
from retrograd.ops.shared.geometry import view_strides
from retrograd.ops.views.slicing import select, slice_

ndarray = np.ndarray
LAST = 2**63 - 1                       # the value of an open slice end
INT64 = np.dtype(np.int64)
INDEX_DTYPES = (INT64, np.dtype(np.int32))
WRONG_INDEX_DTYPE = "tensors used as indices must be long, int, byte or bool tensors"


# ---- from index tensors to positions
def positions(shape: Any, indices: Any) -> list[Any]:
    """One int64 array (or None) for each indexed dimension: masks are replaced by the positions they pick."""
    if len(indices) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(indices)})")
    made: list[Any] = []
    for index in indices:
        if index is None or index.dtype is INT64:
            made.append(index)
        elif index.dtype in INDEX_DTYPES:
            made.append(index.astype(INT64))
        elif index.dtype.kind == "b" or index.dtype == np.uint8:
            if index.dtype.kind != "b":
                warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
                              "instead.", UserWarning, stacklevel=2)
            check_mask(shape, index, len(made))
            made.extend(nonzero(index) if index.ndim else np.nonzero(index))
        else:
            raise IndexError(WRONG_INDEX_DTYPE)
    if len(made) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(made)})")
    return made


def check_mask(shape: Any, mask: Any, start: int) -> None:
    for k, size in enumerate(mask.shape):
        if start + k >= len(shape):
            raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {start + mask.ndim})")
        if size != shape[start + k]:
            raise IndexError(f"The shape of the mask {list(mask.shape)} at index {k} does not match the shape of the "
                             f"indexed tensor {list(shape)} at index {start + k}")


class Place:
    """The target of index tensors: NumPy's index, the shape of the result, the position of the indexed part."""

    __slots__ = ("broadcast", "dims", "front", "given", "index", "shape")

    def __init__(self, shape: Any, indices: Any) -> None:
        made = positions(shape, indices)
        self.given = [p for p in made if p is not None]
        self.dims = [d for d, p in enumerate(made) if p is not None]
        first, last = self.dims[0], self.dims[-1]
        if len(self.given) == 1:
            self.broadcast = self.given[0].shape
        else:
            try:
                self.broadcast = lean.broadcast_shapes(*[p.shape for p in self.given])
            except ValueError:
                shapes = ", ".join([str(list(p.shape)) for p in self.given])
                raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                                 f"{shapes}") from None
        rest = [n for d, n in enumerate(shape) if d not in self.dims]
        adjacent = last - first + 1 == len(self.dims)
        self.front = first if adjacent else 0
        self.shape = (*rest[:self.front], *self.broadcast, *rest[self.front:])
        self.index = tuple([slice(None) if p is None else p for p in made])

    def check_bounds(self, shape: Any) -> None:
        """Refuse positions outside of a tensor of this shape."""
        if 0 not in self.broadcast and any([shape[d] == 0 for d in self.dims]):
            raise IndexError("index is out of bounds for dimension with size 0")
        if 0 in self.shape:                   # no element is accessed
            return
        for k, (dim, given) in enumerate(zip(self.dims, self.given, strict=True)):
            size = shape[dim]
            if not lean.within(given, -size, size):
                wrong = given[(given < -size) | (given >= size)].flat[0]
                raise IndexError(f"index {wrong} is out of bounds for dimension {k} with size {size}")

    def strides(self, array: Any) -> tuple[int, ...]:
        """The strides of the result of indexing `array`."""
        steps = [s for d, s in enumerate(storage.strides_of(array)) if d not in self.dims]
        after = len(steps) - self.front
        operands = [[*steps[:self.front], *[0] * len(self.broadcast), *steps[self.front:]]]
        for given in self.given:
            whole = given if given.shape == self.broadcast else lean.broadcast_to(given, self.broadcast)
            reshaped = (*[1] * self.front, *self.broadcast, *[1] * after)
            own = view_strides(self.broadcast, storage.strides_of(whole), reshaped)
            own = own or storage.contiguous_strides(reshaped)
            operands.append([0 if n != m else s for n, m, s in zip(reshaped, self.shape, own, strict=True)])
        return iteration_strides(self.shape, operands)


def iteration_strides(shape: Any, operands: Any) -> tuple[int, ...]:
    """The strides of a new result that is computed elementwise from operands with these strides (0: broadcast).

    The result's dimensions have the memory order of the first operand whose strides distinguish them.
    """
    rank = len(shape)
    order = list(range(rank - 1, -1, -1))
    for i in range(1, rank):
        k = i
        for j in range(i - 1, -1, -1):
            verdict = compare_dims(shape, operands, order[j], order[k])
            if verdict > 0:
                order[j], order[k] = order[k], order[j]
                k = j
            elif verdict < 0:
                break
    strides = [0] * rank
    step = 1
    for d in order:
        strides[d] = step
        step *= shape[d] if shape[d] > 1 else 1
    return tuple(strides)


def compare_dims(shape: Any, operands: Any, inner: int, outer: int) -> int:
    """1 if `inner` must come before `outer` in memory, -1 if the order is right, 0 if undetermined."""
    for strides in operands:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def laid_out(array: Any, strides: Any) -> Any:
    """`array` itself if it has these strides, else a copy that does; never a view of other memory."""
    if storage.strides_of(array) == strides and array.base is None:
        return array
    return copied(array, None, strides)


def common_shape(a: Any, b: Any) -> tuple[int, ...]:
    """The shape that two broadcast to, or PyTorch's error."""
    problem = broadcast_problem(a, b)
    if problem is not None:
        raise RuntimeError(problem)
    return lean.broadcast_shapes(a, b)


# ---- index
def index_kernel(xp: Any, self: Any, indices: Any) -> Any:
    first = indices[0] if len(indices) == 1 else None
    if first is not None and first.dtype is INT64 and first.flags.c_contiguous and self.flags.c_contiguous and self.size:
        try:
            return take_rows(self, first)
        except IndexError:
            pass                              # the general path raises the right error
    if first is not None and first.dtype.kind == "b" and first.ndim and first.shape == self.shape[:first.ndim] and (
            self.flags.c_contiguous):
        return keep(self, first)
    if not any([i is not None for i in indices]):
        return self.copy()
    if len(indices) > 1:                      # dtypes are checked before shapes
        for index in indices:
            if index is not None and index.dtype not in INDEX_DTYPES and index.dtype.kind != "b" and index.dtype != np.uint8:
                raise IndexError(WRONG_INDEX_DTYPE)
    place = Place(self.shape, indices)
    place.check_bounds(self.shape)
    if 0 in place.shape:
        return storage.empty_strided(place.shape, place.strides(self), self.dtype)
    taken = self[place.index]
    if len(place.shape) < 2:
        return taken
    return laid_out(taken, place.strides(self))


def index_backward(grad: Any, self_sym_sizes: Any, indices: Any) -> Any:
    if grad._flags & FLAG_WRAPPER:                  # inside of a transform
        return call(index_put, [grad.new_zeros(self_sym_sizes), indices, grad, True])
    return call(index_put_impl_, [grad.new_zeros(self_sym_sizes), indices, grad, True, True])


def front_position(indices: Any) -> int:
    """The position of the indexed part in the result, counting masks as the dimensions they cover."""
    dims: list[int] = []
    dim = 0
    for index in indices:
        covered = index.ndim if index is not None and index.dtype.name in ("bool", "uint8") else 1
        if index is not None:
            dims.extend(range(dim, dim + covered))
        dim += covered
    return dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else 0


def batched_indices(indices: Any, dims: Any, size: int) -> tuple[list[Any], int]:
    """The indices preceded by one for the batch dimension, and their number of dimensions without it."""
    rank = max([i.ndim - (d is not None) for i, d in zip(indices, dims, strict=True) if i is not None])
    made = []
    for index, dim in zip(indices, dims, strict=True):
        if index is not None and dim is not None:
            index = families.move_to_front(index, dim)
            index = index.reshape((size,) + (1,) * (rank - index.ndim + 1) + tuple(index.shape[1:]))
        made.append(index)
    batch = new_tensor(np.arange(size).reshape((size,) + (1,) * rank))
    return [batch, *made], rank


def index_batch(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    self, indices = args[0], args[1]
    self = self.expand((size, *self.shape)) if dims[0] is None else families.move_to_front(self, dims[0])
    wanted = front_position(indices)
    if not any([d is not None for d in dims[1]]):
        result = call(op, [self, [None, *indices]])
        if front_position([None, *indices]) > 0:
            return result, 0
        rank = result.ndim - (self.ndim - len([i for i in indices if i is not None]))
        return result, rank
    entries, rank = batched_indices(indices, dims[1], size)
    result = call(op, [self, entries])
    if wanted:
        result = result.movedim(tuple(range(1, rank + 1)), tuple(range(wanted + 1, wanted + rank + 1)))
    return result, 0


index = defop(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    kernel=index_kernel,
    vjp=dict(self=index_backward), jvp="linear", batch=index_batch, variants="method", pattern="moves",
    traits=("chalf", "any_device"), masked="passthrough",
)
def only_positions(self: Any, indices: Any) -> None:
    for index in indices:
        if index is not None and index.array.dtype not in INDEX_DTYPES:
            raise RuntimeError(f"_unsafe_index found unexpected index type {index.dtype.legacy}")


unsafe_index = defop(
    "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    kernel=index_kernel,
    vjp=dict(self=lambda grad, self_sym_sizes, indices:
             call(unsafe_index_put, [grad.new_zeros(self_sym_sizes), indices, grad, True])),
    check=only_positions, jvp="linear", batch=index_batch, node="UnsafeIndexBackward0", variants="function", out=False,
    pattern="moves",
    traits=("chalf",),
)


# ---- index_put
def put(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    """Write or add `values` at the indices; all checks come before the first write."""
    if len(indices) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim} (got {len(indices)})")
    if not accumulate and values.size == 1 and put_by_mask(self, indices, values):
        return self
    place = Place(self.shape, indices) if any([i is not None for i in indices]) else None
    if place is not None and 0 in self.shape:
        place.check_bounds(self.shape)
    shape = self.shape if place is None else place.shape
    if not expandable(values.shape, shape):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
                           f"indexing result of shape {list(shape)}")
    if self.dtype != values.dtype:
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
                           f"{BY_NUMPY[self.dtype].legacy} for the destination and "
                           f"{BY_NUMPY[values.dtype].legacy} for the source.")
    where: Any = Ellipsis
    if place is not None:
        place.check_bounds(self.shape)
        where = place.index
    if 0 in shape:
        return self
    if accumulate:
        add_at(self, where, lean.broadcast_to(values, shape))
    else:
        self[where] = values.copy() if lean.namespace_of(self).may_share_memory(self, values) else values
    return self


def put_by_mask(self: Any, indices: Any, values: Any) -> bool:
    """Write one value where a single mask is set, without computing positions; False if the call is not of that form."""
    given = [i for i in indices if i is not None]
    if len(given) != 1 or given[0].dtype.kind not in "bu":
        return False
    start = next(k for k, i in enumerate(indices) if i is not None)
    if start + given[0].ndim > self.ndim:
        raise indexing.dim_error(self.ndim, self.ndim)
    check_mask(self.shape, given[0], start)
    if given[0].dtype.kind != "b":
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    value = values.reshape(())
    if value.dtype != self.dtype:
        value = number_array(value.item(), self.dtype)
    self[(*[slice(None)] * start, given[0])] = value
    return True


def expandable(shape: Any, target: Any) -> bool:
    extra = len(target) - len(shape)
    return extra >= 0 and all([n in (1, target[extra + k]) for k, n in enumerate(shape)])


def add_at(target: Any, index: Any, values: Any) -> None:
    """target[index] += values, each duplicate counted, in the order of the index."""
    if not target.size or not values.size:
        return
    places = [i for i in index if isinstance(i, ndarray)] if isinstance(index, tuple) else [index]
    if len(places) == 1 and isinstance(places[0], ndarray) and places[0].ndim == 1:
        dim = 0 if not isinstance(index, tuple) else next(d for d, i in enumerate(index) if isinstance(i, ndarray))
        if put_rows(target, places[0], values, dim, "+"):
            return
        if target.ndim == 1 and values.ndim == 1 and isinstance(target, ndarray):
            np.add.at(target, places[0], values)
            return
        if values.size >= 16 * places[0].size and add_rows(
                lean.moveaxis(target, dim, 0), places[0], lean.moveaxis(values, dim, 0)):
            return
    if target.flags.c_contiguous and target.ndim and isinstance(target, ndarray):
        flat = np.arange(target.size).reshape(target.shape)[index]
        add_flat(target.reshape(-1), flat.reshape(-1), np.ascontiguousarray(values).reshape(-1))
    else:
        lean.namespace_of(target).add.at(target, index, values)


def add_rows(target: Any, places: Any, values: Any) -> bool:
    """`add_at` for whole rows: first the first occurrence of every index, then the second, and so on. False, without a
    change, if an index occurs so often that this would be slow.
    """
    places = np.where(places < 0, places + len(target), places)
    counts = np.bincount(places)
    rounds = int(counts.max())
    if rounds > 64:
        return False
    if rounds == 1:
        target[places] += values
        return True
    order = np.argsort(places, kind="stable")
    starts = np.cumsum(counts) - counts
    occurrence = np.arange(len(places)) - starts[places[order]]
    for k in range(rounds):
        chosen = order[occurrence == k]
        target[places[chosen]] += values[chosen]
    return True


def index_put_inplace(xp: Any, self: Any, indices: Any, values: Any, accumulate: bool, unsafe: bool = False) -> Any:
    steps = zip(self.strides, self.shape, strict=True)
    if 0 in self.strides and self.size and any([s == 0 and n > 1 for s, n in steps]):
        warnings.warn("Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing "
                      "this operation. This also applies to advanced indexing e.g. tensor[indices] = tensor",
                      UserWarning, stacklevel=2)
    given = [i for i in indices if i is not None]
    one_mask = not accumulate and values.size == 1 and len(given) == 1 and given[0].dtype.kind in "bu"
    if len(indices) <= self.ndim and not one_mask:
        check_apart(self, (values,))
    return put(self, indices, values, accumulate)


def index_put_kernel(xp: Any, self: Any, indices: Any, values: Any, accumulate: bool, unsafe: bool = False) -> Any:
    return put(copied(self, None, storage.strides_of(self) if storage.is_non_overlapping_and_dense(
        self.shape, storage.strides_of(self)) else storage.contiguous_strides(self.shape)), indices, values, accumulate)


def index_put_self(grad: Any, indices: Any, accumulate: bool) -> Any:
    if accumulate:
        return grad
    # only bool masks accept a single zero
    masks = [i.to(bool_) if i is not None and i.dtype is uint8 else i for i in indices]
    return grad.index_put(masks, grad.new_zeros(()))


def index_put_batch(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    self, indices, values = args[:3]
    if dims[0] is None:
        self = self.expand((size, *self.shape)).clone()
    else:
        self = families.move_to_front(self, dims[0])
    rest = [i for i in indices if i is not None]
    if any([i.dtype.name in ("bool", "uint8") for i in rest]) or (dims[2] is not None and front_position(indices)):
        return families.loop(op, args, dims, size) if not op.is_inplace else loop_inplace(op, args, dims, size)
    index_dims = dims[1]
    entries, rank = batched_indices(indices, index_dims, size)
    wanted = front_position(indices)
    tail = self.ndim - 1 - len(rest)
    full = rank + tail
    if dims[2] is not None:
        values = families.move_to_front(values, dims[2])
        values = values.reshape((size,) + (1,) * (full - values.ndim + 1) + tuple(values.shape[1:]))
    elif wanted:
        values = values.reshape((1,) * (full - values.ndim) + tuple(values.shape))
        values = values.movedim(tuple(range(wanted, wanted + rank)), tuple(range(rank)))
    return call(op, [self, entries, values, *args[3:]]), 0


def loop_inplace(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """One in-place call per example."""
    self = families.move_to_front(args[0], dims[0])
    for i in range(size):
        call(op, [self.select(0, i), *[example(a, d, i) for a, d in zip(args[1:], dims[1:], strict=True)]])
    return self, 0


def example(value: Any, dim: Any, i: int) -> Any:
    """The i-th of the examples that an argument holds."""
    if isinstance(dim, (list, tuple)):
        return [example(v, d, i) for v, d in zip(value, dim, strict=True)]
    return value if dim is None else value.select(dim, i)


PUT_COLUMNS: dict[str, Any] = dict(
    vjp=dict(self=index_put_self, values=lambda grad, indices: grad.index(indices)),
    jvp="linear", batch=index_put_batch,
)
index_put = defop(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    out="aten",
    kernel=index_put_kernel, lower="@index_put", **PUT_COLUMNS, pattern=("scatter", 2, "index", (1,)),
    traits=("chalf", "any_device"),
)
index_put_ = defop(
    "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
    kernel=index_put_inplace, functional=index_put, out=False, **PUT_COLUMNS,
    traits=("apart", "apart_checked", "chalf", "any_device"),
)
index_put_impl = defop(
    "_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> "
    "Tensor",
    kernel=index_put_kernel, node="IndexPutImplBackward0", variants="", **PUT_COLUMNS, real_only=True,
    pattern=("scatter", 2, "index", (1,)),
)
index_put_impl_ = defop(
    "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> "
    "Tensor(a!)",
    kernel=index_put_inplace, functional=index_put_impl, node="IndexPutImplBackward0", variants="function", out=False,
    **PUT_COLUMNS, traits=("guarded", "chalf", "any_device"),
)
unsafe_index_put = defop(
    "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    kernel=index_put_kernel, lower="@index_put", node="UnsafeIndexPutBackward0", variants="function", out=False,
    **{**PUT_COLUMNS, "vjp": dict(
        self=lambda grad, indices, accumulate:
            grad if accumulate else call(unsafe_index_put, [grad, indices, grad.new_zeros(()), False]),
        values=lambda grad, indices: call(unsafe_index, [grad, indices]))}, pattern=("scatter", 2, "index", (1,)),
    traits=("chalf",),
)


# ---- indices that may be out of range where a mask is false
def within(self: Any, indices: Any) -> list[Any]:
    """The indices, clamped to their dimension."""
    xp = lean.namespace_of(self)
    return [None if i is None else xp.minimum(xp.maximum(i, -self.shape[d]), self.shape[d] - 1) for d, i in enumerate(indices)]


def masked_index_kernel(xp: Any, self: Any, mask: Any, indices: Any, fill: Any) -> Any:
    if not self.size:
        return lean.full(lean.broadcast_shapes(mask.shape, *[i.shape for i in indices if i is not None]), fill, self.dtype)
    made = index_kernel(xp, self, within(self, indices))
    return xp.where(mask, made, families.number_like(xp, made, fill))


def masked_put_kernel(xp: Any, self: Any, mask: Any, indices: Any, values: Any) -> Any:
    if not self.size:
        return self.copy()
    return index_put_kernel(xp, self, within(self, indices), xp.where(mask, values, values.dtype.type(0)), True)


unsafe_masked_index = defop(
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", kernel=masked_index_kernel,
    vjp=dict(self=lambda grad, self_sym_sizes, mask, indices:
             call(unsafe_masked_put, [grad.new_zeros(self_sym_sizes), mask, indices, grad])),
    jvp=lambda self_t, mask, indices, fill: call(unsafe_masked_index, [self_t, mask, indices, 0]),
    batch=families.loop, variants="function", out=False,
)
unsafe_masked_put = defop(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
    kernel=masked_put_kernel,
    vjp=dict(self=lambda grad: grad,
             values=lambda grad, mask, indices: call(unsafe_masked_index, [grad, mask, indices, 0])),
    jvp=lambda self_t, mask, indices, values_t: call(unsafe_masked_put, [self_t, mask, indices, values_t]),
    batch=families.loop, variants="function", out=False,
)


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
    return call_view(select, args) if is_ordinary(self) else call(select, args)


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
    return call_view(slice_, args) if is_ordinary(self) else call(slice_, args)


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
    if type(index) is tuple and BASIC.issuperset(map(type, index)):
        result = basic_views(self, index)
        if result is not None:
            return result, None
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
        return call(INDEX, [self, [index]])
    if kind is not tuple and not isinstance(index, Tensor) and hasattr(index, "__torch_function__"):
        return hooks.torch_function(Tensor.__getitem__, (self, index), {})
    result, tensors = sliced(self, index)
    if tensors is not None:
        return call(INDEX, [result, tensors])
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


INDEX = index


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


def number_array(value: Any, dtype: Any) -> Any:
    """A Python number as a 0-d array; raises if the dtype cannot hold it."""
    if (type(value) is int or type(value) is float and dtype.kind in "fcVW") and 0 <= value <= 127 and dtype.kind != "b":
        return np.asarray(value, dtype if dtype.kind != "V" else np.float32).astype(dtype, copy=False)
    if dtype.kind == "b":
        return np.asarray(value != 0)
    if dtype.kind == "W":
        return np.asarray(value, np.complex64).astype(dtype)
    fits = dtype.kind == "c" or not isinstance(value, complex) or value.imag == 0
    if fits and isinstance(value, complex) and dtype.kind != "c":
        value = value.real
    if fits and dtype.kind in "iu":
        value, fits = wrapped_integer(value, np.iinfo(dtype))
    elif fits:
        limit = FLOAT_LIMITS.get(BY_NUMPY[dtype].name, INFINITY)
        parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
        fits = all([not limit < abs(part) < INFINITY for part in parts])
    if not fits:
        raise overflow(dtype)
    return np.asarray(value).astype(dtype)


def wrapped_integer(value: Any, limits: Any) -> tuple[int, bool]:
    """A number as an integer within limits, and whether it fits; unsigned types take negative ints modulo their range."""
    if value != value or abs(value) == INFINITY:
        return 0, False
    exact = isinstance(value, int)
    low = -int(limits.max) if exact and limits.min == 0 else int(limits.min)
    fits = low <= value <= int(limits.max)
    value, top = int(value), int(limits.max)
    if limits.min == 0:
        return value % (top + 1), fits
    return value, fits


INFINITY = float("inf")
FLOAT_LIMITS = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
                "complex64": 3.4028234663852886e38}


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
