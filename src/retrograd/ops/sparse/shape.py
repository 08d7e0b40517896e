"""Shape ops on sparse COO tensors: transposes, selections, joins."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import new_tensor
from retrograd.ops.shared.families import wrap_dim
from retrograd.ops.sparse.coo import (
    common_dtype,
    data_of,
    dense_dim_of,
    indices_of,
    is_coo,
    is_sparse,
    layout_name,
    new_coo,
    sparse_dim_of,
    values_of,
)
from retrograd.ops.sparse.table import missing, sparse_kernel


class AsStrided:
    """The op named in PyTorch's error for strided views of sparse tensors."""

    name, overload = "as_strided", "default"


@sparse_kernel("as_strided", "slice.Tensor", "squeeze", "squeeze.dim", "squeeze.dims", "diagonal", "unfold")
def no_memory(op: OpDef, self: Any, *rest: Any) -> Any:
    raise missing(AsStrided, [self], "SparseCPU")


@sparse_kernel("expand")
def no_expand(op: OpDef, self: Any, *rest: Any) -> Any:
    raise RuntimeError("expand is unsupported for Sparse tensors")


@sparse_kernel("_reshape_alias", "reshape")
def no_reshape(op: OpDef, self: Any, *rest: Any) -> Any:
    raise RuntimeError("reshape is not implemented for sparse tensors")


@sparse_kernel("narrow_copy")
def narrow_copy_kernel(op: OpDef, self: Any, dim: int, start: int, length: int) -> Any:
    """The entries whose coordinate lies in a range, or of dense dimensions a range of all of them."""
    d, split = wrap_dim(dim, self.array.ndim), sparse_dim_of(self)
    shape = (*self.array.shape[:d], length, *self.array.shape[d + 1:])
    if length < 0 or not 0 <= start <= self.array.shape[d] - length:
        raise RuntimeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, "
                           f"{self.array.shape[d]}).")
    indices, values = indices_of(self), values_of(self)
    if d >= split:
        place = (*(slice(None),) * (d - split + 1), slice(start, start + length))
        return new_coo(indices.copy(), values[place].copy(), shape, data_of(self).coalesced)
    kept = (indices[d] >= start) & (indices[d] < start + length)
    chosen = indices[:, kept]
    chosen[d] -= start
    return new_coo(chosen, values[kept], shape, data_of(self).coalesced)


@sparse_kernel("view")
def no_view(op: OpDef, self: Any, *rest: Any) -> Any:
    raise missing(op, [self], "SparseCPU")


# ---- orders of dimensions
@sparse_kernel("t")
def t_kernel(op: OpDef, self: Any) -> Any:
    if sparse_dim_of(self) > 2 or dense_dim_of(self):
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {sparse_dim_of(self)} "
                           f"sparse and {dense_dim_of(self)} dense dimensions")
    return transposed(self, 0, 0 if self.array.ndim < 2 else 1)


@sparse_kernel("transpose.int")
def transpose_kernel(op: OpDef, self: Any, dim0: int, dim1: int) -> Any:
    ndim = self.array.ndim
    return transposed(self, wrap_dim(dim0, ndim), wrap_dim(dim1, ndim))


def transposed(self: Any, dim0: int, dim1: int) -> Any:
    order = list(range(self.array.ndim))
    if dim0 != dim1:
        split = sparse_dim_of(self)
        if max(dim0, dim1) >= split and min(dim0, dim1) < split or min(dim0, dim1) >= split:
            raise RuntimeError("sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
                               f"{split}, d0: {dim0}, d1: {dim1}")
        order[dim0], order[dim1] = order[dim1], order[dim0]
    made = reordered(self, order)
    if dim0 != dim1 and values_of(self).shape[0]:
        data_of(made).coalesced = False
    return made


@sparse_kernel("permute")
def permute_kernel(op: OpDef, self: Any, dims: Any) -> Any:
    ndim = self.array.ndim
    if len(dims) != ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                           f"desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}")
    order = [wrap_dim(d, ndim) for d in dims]
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    split = sparse_dim_of(self)
    if any([d >= split for d in order[:split]]):
        raise RuntimeError("permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only "
                           "transpositions within sparse and dense dimensions are supported.")
    made = reordered(self, order)
    data_of(made).coalesced = data_of(self).coalesced and order[:split] == list(range(split))
    return made


def reordered(self: Any, order: Any) -> Any:
    split = sparse_dim_of(self)
    shape = tuple([self.array.shape[d] for d in order])
    same = list(order) == sorted(order)
    indices = indices_of(self)
    if order[:split] != list(range(split)):
        indices = indices[order[:split]]
    values = values_of(self).transpose([0, *[d - split + 1 for d in order[split:]]])
    stays = same or order[:split] == list(range(split))
    return new_coo(indices, values, shape, data_of(self).coalesced and stays)


@sparse_kernel("unsqueeze")
def unsqueeze_kernel(op: OpDef, self: Any, dim: int) -> Any:
    return unsqueezed(self, wrap_dim(dim, self.array.ndim + 1))


def unsqueezed(self: Any, dim: int) -> Any:
    split = sparse_dim_of(self)
    shape = (*self.array.shape[:dim], 1, *self.array.shape[dim:])
    indices, values = indices_of(self), values_of(self)
    if dim <= split:
        indices = np.insert(indices, dim, 0, axis=0)
    else:
        values = lean.expand_dims(values, dim - split + 1)
    return new_coo(indices, values, shape)


@sparse_kernel("view_as_real")
def view_as_real_kernel(op: OpDef, self: Any) -> Any:
    values = values_of(self)
    if values.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    pairs = np.ascontiguousarray(values).view(values.real.dtype).reshape(*values.shape, 2)
    return new_coo(indices_of(self), pairs, (*self.array.shape, 2), data_of(self).coalesced)


# ---- parts
@sparse_kernel("select.int")
def select_kernel(op: OpDef, self: Any, dim: int, index: int) -> Any:
    shape = self.array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(shape))
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return selected(self, dim, index % shape[dim])


def selected(self: Any, dim: int, index: int) -> Any:
    split = sparse_dim_of(self)
    rest = (*self.array.shape[:dim], *self.array.shape[dim + 1:])
    indices, values = indices_of(self), values_of(self)
    if dim >= split:
        return new_coo(indices, np.take(values, index, dim - split + 1), rest)
    here = indices[dim] == index
    if split == 1:
        return new_tensor(np.asarray(values[here].sum(0, dtype=values.dtype)))
    return new_coo(np.delete(indices[:, here], dim, 0), values[here], rest)


@sparse_kernel("unbind.int")
def unbind_kernel(op: OpDef, self: Any, dim: int) -> Any:
    dim = wrap_dim(dim, self.array.ndim)
    return [selected(self, dim, i) for i in range(self.array.shape[dim])]


@sparse_kernel("index_select")
def index_select_kernel(op: OpDef, self: Any, dim: int, index: Any) -> Any:
    shape = self.array.shape
    if not shape:
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(shape))
    wanted = index.array.reshape(-1)
    if index.array.ndim > 1:
        raise IndexError("index_select() argument index must be 1-D long-tensor.")
    if wanted.size and not (-shape[dim] <= wanted.min() and wanted.max() < shape[dim]):
        raise IndexError(f"index_select(): index contains {wanted[(wanted < -shape[dim]) | (wanted >= shape[dim])][0]} that "
                         f"is out of range for tensor of size {list(shape)} at dimension {dim}")
    wanted = wanted % max(shape[dim], 1)
    split = sparse_dim_of(self)
    made = (*shape[:dim], wanted.shape[0], *shape[dim + 1:])
    indices, values = indices_of(self), values_of(self)
    if dim >= split:
        return new_coo(indices.copy(), np.take(values, wanted, dim - split + 1), made)
    order = np.argsort(indices[dim], kind="stable")
    ranks = indices[dim][order]
    first, last = np.searchsorted(ranks, wanted), np.searchsorted(ranks, wanted, "right")
    counts = last - first
    place = np.repeat(np.arange(wanted.shape[0]), counts)
    offset = np.arange(place.shape[0]) - np.repeat(np.cumsum(counts) - counts, counts)
    entries = order[first[place] + offset]
    columns = indices[:, entries]
    columns[dim] = place
    return new_coo(columns, values[entries], made)


# ---- joins
def check_coordinates(tensors: Any) -> None:
    """Refuse to join tensors of coordinates with others."""
    for position, t in enumerate(tensors):
        if not is_coo(t):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {position}."
                               if not is_sparse(t) else
                               f"Concatenating sparse tensors, but a tensor of layout {layout_name(t)} was found.")


@sparse_kernel("cat")
def cat_kernel(op: OpDef, tensors: Any, dim: int) -> Any:
    check_coordinates(tensors)
    first = tensors[0]
    dim = wrap_dim(dim, first.array.ndim)
    split = sparse_dim_of(first)
    for position, t in enumerate(tensors):
        if sparse_dim_of(t) != split or dense_dim_of(t) != dense_dim_of(first):
            raise RuntimeError(f"All tensors must have the same sparse_dim and dense_dim: {split}, {dense_dim_of(first)}, but "
                               f"tensor at position {position} has {sparse_dim_of(t)}, {dense_dim_of(t)}.")
        for d in range(first.array.ndim):
            if d != dim and t.array.shape[d] != first.array.shape[d]:
                raise RuntimeError("Sizes of tensors must match except in dimension "
                                   f"{dim}. Expected size {first.array.shape[d]} but got size {t.array.shape[d]} for tensor "
                                   f"number {position} in the list.")
    total = sum([t.array.shape[dim] for t in tensors])
    shape = (*first.array.shape[:dim], total, *first.array.shape[dim + 1:])
    dtype = common_dtype(*tensors)
    columns, values, start = [], [], 0
    for t in tensors:
        indices, own = indices_of(t), values_of(t).astype(dtype, copy=False)
        length = t.array.shape[dim]
        if dim < split:
            indices = indices.copy()
            indices[dim] += start
        else:
            axis = dim - split + 1
            wide = np.zeros((*own.shape[:axis], total, *own.shape[axis + 1:]), dtype)
            wide[(*[slice(None)] * axis, slice(start, start + length))] = own
            own = wide
        columns.append(indices)
        values.append(own)
        start += length
    return new_coo(np.concatenate(columns, 1), np.concatenate(values), shape)


@sparse_kernel("stack")
def stack_kernel(op: OpDef, tensors: Any, dim: int) -> Any:
    check_coordinates(tensors)
    dim = wrap_dim(dim, tensors[0].array.ndim + 1)
    return cat_kernel(op, [unsqueezed(t, dim) for t in tensors], dim)


