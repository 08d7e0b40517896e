"""The ops that take an index tensor for each dimension: index and index_put (see subscript.py for `x[...]`)."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from retrograd.core import indexing, lean, storage
from retrograd.core.algorithms import native
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY, bool_, uint8
from retrograd.core.kernels import broadcast_problem, check_apart
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import FLAG_WRAPPER, new_tensor
from retrograd.ops.memory.copy import copied
from retrograd.ops.shared import families
from retrograd.ops.shared.along import add_flat, keep, nonzero, put_rows, take_rows
from retrograd.ops.shared.geometry import view_strides
from retrograd.ops.shared.numbers import number_array

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
    if native is not None:
        made = native.take_at(self, indices)
        if made is not None:
            return made
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
    places = [i for i in index if isinstance(i, np.ndarray)] if isinstance(index, tuple) else [index]
    if len(places) == 1 and isinstance(places[0], np.ndarray) and places[0].ndim == 1:
        dim = 0 if not isinstance(index, tuple) else next(d for d, i in enumerate(index) if isinstance(i, np.ndarray))
        if put_rows(target, places[0], values, dim, "+"):
            return
        if target.ndim == 1 and values.ndim == 1 and isinstance(target, np.ndarray):
            np.add.at(target, places[0], values)
            return
        if values.size >= 16 * places[0].size and add_rows(
                lean.moveaxis(target, dim, 0), places[0], lean.moveaxis(values, dim, 0)):
            return
    if target.flags.c_contiguous and target.ndim and isinstance(target, np.ndarray):
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
    index_dims = dims[1]
    if not any([d is not None for d in index_dims]):
        indices = masks_by_position(indices)
        index_dims = [None] * len(indices)
    rest = [i for i in indices if i is not None]
    if any([i.dtype.name in ("bool", "uint8") for i in rest]) or (dims[2] is not None and front_position(indices)):
        return families.loop(op, args, dims, size) if not op.is_inplace else loop_inplace(op, args, dims, size)
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


def masks_by_position(indices: Any) -> list[Any]:
    """The indices with masks replaced by the positions of their true elements, one tensor per dimension."""
    return [part for index in indices for part in (
        index.nonzero().unbind(1) if index is not None and index.ndim and index.dtype.name in ("bool", "uint8") else (index,))]


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
