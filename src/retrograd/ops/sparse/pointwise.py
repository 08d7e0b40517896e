"""Elementwise ops on COO tensors: those that keep zeros run on the values; sums and products match positions."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import Tensor, new_tensor
from retrograd.ops.shared.elementwise import unsupported
from retrograd.ops.sparse.coo import (
    add_rows,
    coalesced,
    columns_of,
    common_dtype,
    data_of,
    dense_array,
    dense_dim_of,
    empty_coo,
    indices_of,
    is_coo,
    is_sparse,
    keys_of,
    new_coo,
    replace,
    row_count,
    rows_at,
    sparse_dim_of,
    sparse_tensor,
    values_of,
)
from retrograd.ops.sparse.table import KEEPS_ZERO, on_values, sparse_kernel


@sparse_kernel(KEEPS_ZERO, "pow.Tensor_Scalar")
def on_summed_values(op: OpDef, self: Any, *rest: Any) -> Any:
    """Run a nonlinear f with f(0) = 0 on the coalesced entries."""
    if op.name == "pow" and rest[0] == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    own = coalesced(self)
    return with_values(own, on_values(op, data_of(own).values, *rest))


@sparse_kernel("neg", "conj_physical", "_conj_physical", "positive", "_conj")
def on_stored_values(op: OpDef, self: Any, *rest: Any) -> Any:
    if op.name == "_conj":
        return with_values(self, new_tensor(np.conj(values_of(self))))
    return with_values(self, on_values(op, data_of(self).values, *rest))


def with_values(t: Any, values: Any) -> Any:
    """A tensor with entries where `t` has some, but other values."""
    data = data_of(t).copy()
    data.values = values
    return sparse_tensor(data, t.array.shape)


# ---- sums
DENSE_SECOND = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."


@sparse_kernel("add.Tensor", "add.Scalar")
def add_kernel(op: OpDef, self: Any, other: Any, alpha: Any) -> Any:
    if not is_sparse(self):
        return dense_plus_sparse(self, other, alpha)
    if not is_sparse(other):
        raise RuntimeError(DENSE_SECOND)
    return merged(self, other, alpha, common_dtype(self, other))


@sparse_kernel("sub.Tensor", "sub.Scalar")
def sub_kernel(op: OpDef, self: Any, other: Any, alpha: Any) -> Any:
    return add_kernel(op, self, other, -alpha)


@sparse_kernel("rsub.Tensor")
def rsub_kernel(op: OpDef, self: Any, other: Any, alpha: Any) -> Any:
    return add_kernel(op, other, self, -alpha)


@sparse_kernel("add_.Tensor")
def add_in_place(op: OpDef, self: Any, other: Any, alpha: Any) -> Any:
    if not is_sparse(self):
        check_cast(common_dtype(self, other), self)
        if self.array.shape != other.array.shape:
            raise RuntimeError(sizes_differ(self, other))
        rows = rows_over(self.array, sparse_dim_of(other))
        if rows is not None:
            add_rows(rows, other, None if alpha == 1 else alpha)
        else:
            self.array[...] = dense_plus_sparse(self, other, alpha).array
        return self
    if not is_sparse(other):
        raise RuntimeError(DENSE_SECOND)
    joint = common_dtype(self, other)
    check_cast(joint, self)
    replace(self, merged(self, other, alpha, joint))
    return self


@sparse_kernel("sub_.Tensor")
def sub_in_place(op: OpDef, self: Any, other: Any, alpha: Any) -> Any:
    return add_in_place(op, self, other, -alpha)


def check_cast(joint: Any, target: Any) -> None:
    source = dtypes.BY_NUMPY[joint]
    if not dtypes.can_cast(source, target.dtype):
        raise RuntimeError(f"result type {source.legacy} can't be cast to the desired output type {target.dtype.legacy}")


def sizes_differ(self: Any, other: Any) -> str:
    return (f"add: expected 'self' and 'other' to have same size, but self has size {list(self.array.shape)} while other has "
            f"size {list(other.array.shape)} (FYI: dense-sparse addition does not currently support broadcasting)")


def rows_over(array: Any, split: int) -> Any:
    """`array` with its first `split` dimensions made one, over the same memory; None if that takes a copy."""
    if not array.flags.c_contiguous:
        return None
    return array.reshape(row_count(array.shape[:split]), *array.shape[split:])


def dense_plus_sparse(self: Any, other: Any, alpha: Any) -> Any:
    if not isinstance(self, Tensor):
        raise RuntimeError(DENSE_SECOND)
    if self.array.shape != other.array.shape:
        raise RuntimeError(sizes_differ(self, other))
    made = np.array(self.array, dtype=common_dtype(self, other), order="C")
    add_rows(rows_over(made, sparse_dim_of(other)), other, None if alpha == 1 else alpha)
    return new_tensor(made)


def merged(self: Any, other: Any, alpha: Any, dtype: Any) -> Any:
    """self + alpha * other: two lists of entries merged by position, each in its own order."""
    if self.array.shape != other.array.shape:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(self.array.shape)} != "
                           f"{list(other.array.shape)}")
    shape = self.array.shape
    first, second = values_of(self).astype(dtype, copy=False), values_of(other).astype(dtype, copy=False)
    if alpha != 1:
        second = (second * np.asarray(alpha).astype(dtype)).astype(dtype, copy=False)
    if not second.shape[0]:
        return new_coo(indices_of(self).copy(), first.copy(), shape, data_of(self).coalesced)
    if not first.shape[0]:
        return new_coo(indices_of(other).copy(), second.copy(), shape, data_of(other).coalesced)
    if sparse_dim_of(self) != sparse_dim_of(other):
        raise RuntimeError(f"add: expected 'self' and 'other' to have same density, but 'self' has {sparse_dim_of(self)} "
                           f"sparse dimensions while 'other' has {sparse_dim_of(other)} sparse dimensions")
    if np.dtype(dtype).kind == "b" or dtype == np.float16:
        raise unsupported("cadd_sparse", np.dtype(dtype))
    sparse_shape = shape[:sparse_dim_of(self)]
    a, b = keys_of(indices_of(self), shape), keys_of(indices_of(other), shape)
    sorted_ = data_of(self).coalesced and data_of(other).coalesced
    if not sorted_ and not (first.flags.c_contiguous and second.flags.c_contiguous):
        return new_coo(np.concatenate([indices_of(self), indices_of(other)], 1), np.concatenate([first, second]), shape)
    places, left, right = (merge_sorted if sorted_ else merge_as_listed)(a, b)
    made = np.zeros((places.shape[0], *first.shape[1:]), dtype)
    made[left[0]] = first[left[1]]
    made[right[0]] = made[right[0]] + second[right[1]]
    return new_coo(columns_of(places, sparse_shape), made, shape, sorted_)


def merge_sorted(a: Any, b: Any) -> Any:
    """The merged positions of two sorted lists, and the target index of each list's entries."""
    places = np.union1d(a, b)
    return places, (np.searchsorted(places, a), slice(None)), (np.searchsorted(places, b), slice(None))


def merge_as_listed(a: Any, b: Any) -> Any:
    """`merge_sorted` for unsorted lists: walked in parallel, the smaller position first, equal ones together."""
    x, y = a.tolist(), b.tolist()
    places: list[int] = []
    left, right = ([], []), ([], [])  # type: tuple[list[int], list[int]], tuple[list[int], list[int]]
    i = j = 0
    while i < len(x) or j < len(y):
        take_left = j >= len(y) or (i < len(x) and x[i] <= y[j])
        take_right = i >= len(x) or (j < len(y) and y[j] <= x[i])
        place = len(places)
        places.append(x[i] if take_left else y[j])
        if take_left:
            left[0].append(place)
            left[1].append(i)
            i += 1
        if take_right:
            right[0].append(place)
            right[1].append(j)
            j += 1
    return np.array(places, np.int64), left, right


# ---- products
@sparse_kernel("mul.Tensor", "mul.Scalar")
def mul_kernel(op: OpDef, self: Any, other: Any) -> Any:
    if not is_sparse(self):
        return mul_kernel(op, other, self)
    if not isinstance(other, Tensor) or (not is_sparse(other) and other.array.ndim == 0):
        return with_values(self, scaled(op, self, other))
    if is_sparse(other):
        return sparse_product(op, self, other)
    return times_dense(self, other)


def scaled(op: OpDef, self: Any, other: Any) -> Any:
    """The values times (or divided by) a number; a 0-d tensor stays a tensor for dtype promotion."""
    values = data_of(self).values
    made = on_values(op, values, other)
    if self.array.ndim == 0 and isinstance(other, Tensor):
        made.array = made.array.astype(common_dtype(self, other), copy=False)
    return made


def sparse_product(op: OpDef, self: Any, other: Any) -> Any:
    """The product at common positions; one operand keeps its entries, the other is coalesced first."""
    for one, two in ((self, other), (other, self)):
        if one.array.ndim == 0:
            product = (values_of(two) * dense_array(one)).astype(common_dtype(self, other), copy=False)
            return with_values(two, new_tensor(product))
    split = sparse_dim_of(self)
    if split != sparse_dim_of(other) or self.array.shape[:split] != other.array.shape[:split] or (
            self.array.ndim != other.array.ndim):
        raise RuntimeError("sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of "
                           "sparse dimensions, and shape of sparse dimensions")
    dtype = common_dtype(self, other)
    x, y = values_of(self), values_of(other)
    if not x.shape[0] or not y.shape[0]:
        return empty_coo(self.array.shape, dtype, split)
    first, second = data_of(self).coalesced, data_of(other).coalesced
    if first and second:
        listed = self if x.shape[0] < y.shape[0] else other
    elif first or second:
        listed = other if first else self
    else:
        listed = other if x.shape[0] >= y.shape[0] else self
    rows, found = rows_at(other if listed is self else self, indices_of(listed))
    if not (first and second):                     # unmatched entries stay, as zeros
        found = slice(None)
    made = (values_of(listed)[found] * rows[found]).astype(dtype, copy=False)
    if not (first and second):
        made = made + made.dtype.type(0)           # they are sums, so no zero is negative
    return new_coo(np.ascontiguousarray(indices_of(listed)[:, found]), made, self.array.shape, data_of(listed).coalesced)


def times_dense(self: Any, other: Any) -> Any:
    """Entries times the values of a dense tensor at their positions."""
    problem = broadcast_problem(self.array.shape, other.array.shape)
    if problem is not None:
        raise RuntimeError(problem)
    shape = lean.broadcast_shapes(self.array.shape, other.array.shape)
    if shape != self.array.shape:
        self = broadcast(self, shape)
    split = sparse_dim_of(self)
    whole = lean.broadcast_to(other.array, shape)
    picked = whole[tuple(indices_of(self))] if split else whole[None]
    made = (values_of(self) * picked).astype(common_dtype(self, other), copy=False)
    return new_coo(indices_of(self).copy(), made, shape, data_of(self).coalesced)


def broadcast(t: Any, shape: Any) -> Any:
    """A COO tensor repeated along dimensions of length 1 and new ones in front."""
    t = coalesced(t)
    extra, split = len(shape) - t.array.ndim, sparse_dim_of(t)
    indices, values = indices_of(t), values_of(t)
    values = lean.broadcast_to(values, (values.shape[0], *shape[extra + split:]))
    own = (1,) * extra + t.array.shape[:split]
    columns = np.concatenate([np.zeros((extra, indices.shape[1]), np.int64), indices])
    for d, (have, want) in enumerate(zip(own, shape[:extra + split], strict=True)):
        if have != want:
            count = columns.shape[1]
            columns = np.tile(columns, want)
            columns[d] = np.repeat(np.arange(want), count)
            values = np.tile(values, (want, *(1,) * (values.ndim - 1)))
    return coalesced(new_coo(columns, np.ascontiguousarray(values), shape))


@sparse_kernel("mul_.Tensor", "mul_.Scalar")
def mul_in_place(op: OpDef, self: Any, other: Any) -> Any:
    if not isinstance(other, Tensor) or (is_coo(self) and not is_sparse(other) and other.array.ndim == 0):
        values = data_of(self).values
        joint = on_values(op.functional, values, other).dtype
        if not values.array.shape[0]:
            return self
        if not dtypes.can_cast(joint, values.dtype):
            raise RuntimeError(f"dtype of values ({joint.legacy}) must match dtype of sparse tensor ({values.dtype.legacy})")
        on_values(op, values, other)
        return self
    made = mul_kernel(op.functional, self, other)
    check_cast(made.array.dtype, self)
    if is_sparse(self):
        replace(self, made)
        if not is_sparse(other):
            data_of(self).coalesced = values_of(self).shape[0] < 2
    else:
        self.array[...] = dense_array(made)
    return self


@sparse_kernel("div.Tensor", "div.Scalar", "div.Tensor_mode", "floor_divide")
def div_kernel(op: OpDef, self: Any, other: Any, *mode: Any) -> Any:
    if isinstance(other, Tensor) and (is_sparse(other) or other.array.ndim):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{list(other.array.shape)} for divisor)")
    own = self if op.name == "div" and not any(mode) else coalesced(self)     # rounding is not linear
    return with_values(own, on_values(op, data_of(own).values, other, *mode))


@sparse_kernel("zero_")
def zero_in_place(op: OpDef, self: Any) -> Any:
    replace(self, empty_coo(self.array.shape, self.array.dtype, self.array.ndim - dense_dim_of(self)))
    return self
