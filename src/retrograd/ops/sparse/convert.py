"""Between dense and sparse: to_dense, to_sparse, coalesce, sparse_mask, and the parts of a sparse tensor."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, defop
from retrograd.core.saved import alias
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.memory.copy import cast_array, sparse_coo, strided
from retrograd.ops.sparse.construct import coo_unsafe, missing_simple
from retrograd.ops.sparse.coo import (
    Coo,
    coalesced,
    data_of,
    dense_array,
    dense_dim_of,
    is_coo,
    is_sparse,
    keys_of,
    layout_name,
    layout_of,
    new_coo,
    replace,
    row_count,
    rows_at,
    sparse_dim_of,
    sparse_tensor,
    values_of,
)
from retrograd.ops.sparse.table import compressed_kernel, missing, sparse_kernel, unbatched


# ---- to dense
def dense_gradient(grad: Any, self: Any, masked_grad: Any) -> Any:
    if not is_sparse(self):
        return late.to(grad, self.dtype)
    if masked_grad is None or masked_grad:
        return late.sparse_mask(grad, late.coalesce(self) if is_coo(self) else self)
    if is_coo(self):
        return late.to_sparse(grad, sparse_dim_of(self))
    return late.to_sparse(grad, layout=layout_of(self), blocksize=blocksize_of(self), dense_dim=late.dense_dim(self))


to_dense_op = defop(
    "_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor",
    kernel=None, vjp=dict(self=dense_gradient), batch=unbatched, variants="", out=False,
)


def to_dense_tensors(self: Any, dtype: Any, masked_grad: Any) -> Any:
    if is_sparse(self):
        return call(to_dense_op, [self, dtype, masked_grad])
    return self if dtype is None else late.to(self, dtype)


to_dense = defop(
    "to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor",
    kernel=to_dense_tensors, composite=True, variants="method", out=False,
)


@sparse_kernel("_to_dense")
def to_dense_kernel(op: OpDef, self: Any, dtype: Any, masked_grad: Any) -> Any:
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return new_tensor(dense_array(self))


# ---- to sparse
def sparse_gradient(grad: Any, self_layout: Any, self_self_sym_blocksize_opt: Any) -> Any:
    """A gradient in the layout that the converted tensor had."""
    if self_layout is strided:
        return late.to_dense(grad)
    if layout_of(grad) is self_layout and blocksize_of(grad) == self_self_sym_blocksize_opt:
        return grad
    return late.to_sparse(grad, layout=self_layout, blocksize=self_self_sym_blocksize_opt)


to_sparse_dim = defop(
    "_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
    kernel=None, vjp=dict(self=sparse_gradient), batch=unbatched, node="ToSparseBackward0", variants="", out=False,
    real_only=True,
)
to_sparse_layout = defop(
    "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
    kernel=None, vjp=dict(self=sparse_gradient), batch=unbatched, node="ToSparseBackward1", variants="", out=False,
    real_only=True,
)


def by_dim(self: Any, sparse_dim: int) -> Any:
    if is_coo(self):
        if sparse_dim != sparse_dim_of(self):
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is "
                               "not supported")
        return self
    return call(to_sparse_dim, [self, sparse_dim])


def by_layout(self: Any, layout: Any, blocksize: Any, dense_dim: Any) -> Any:
    wanted = layout if layout is not None else sparse_coo
    if layout_of(self) is wanted and blocksize_of(self) == (tuple(blocksize) if blocksize is not None else blocksize_of(self)):
        return self
    if wanted is strided:
        return late.to_dense(self)
    return call(to_sparse_layout, [self, layout, blocksize, dense_dim])


for schema, function in (("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", by_dim),
                         ("to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) "
                          "-> Tensor", by_layout)):
    defop(schema, kernel=function, composite=True, variants="method", out=False)


def nonzero_rows(array: Any, sparse_dim: int) -> Any:
    """A coalesced COO tensor of the rows of `array` that are not all zero."""
    mask = array != 0
    if sparse_dim < array.ndim:
        mask = mask.any(axis=tuple(range(sparse_dim, array.ndim)))
    mask = np.asarray(mask)
    if sparse_dim == 0:
        kept = int(bool(mask))
        return new_coo(np.zeros((0, kept), np.int64), array[None][:kept].copy(), array.shape, True)
    indices = lean.stack(np.nonzero(mask)).astype(np.int64)
    return new_coo(indices, np.ascontiguousarray(array[tuple(indices)]), array.shape, True)


@sparse_kernel("_to_sparse.sparse_dim")
def to_sparse_dim_kernel(op: OpDef, self: Any, sparse_dim: int) -> Any:
    ndim = self.array.ndim
    if ndim:
        if not 0 <= sparse_dim <= ndim:
            raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but {sparse_dim} is given")
        if sparse_dim == 0:
            raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    return nonzero_rows(self.array, min(sparse_dim, ndim))


@sparse_kernel("_to_sparse")
def to_sparse_kernel(op: OpDef, self: Any, layout: Any, blocksize: Any, dense_dim: Any) -> Any:
    if layout is not None and layout is not sparse_coo:
        return hooks.to_compressed(self, layout, blocksize, dense_dim)
    if blocksize is not None:
        raise RuntimeError(f"dense_to_sparse: conversion from {layout_name(self)} to Sparse with blocksize argument given is "
                           "not supported")
    ndim = self.array.ndim
    if dense_dim is not None and ndim:
        if dense_dim == ndim:
            raise RuntimeError("dense_to_sparse: dense_dim argument must be !=self.dim() when self.dim()>0")
        if not 0 <= dense_dim <= ndim:
            raise RuntimeError(f"dense_to_sparse: dense_dim argument must be in [0,{ndim}] range, but {dense_dim} is given")
    return nonzero_rows(self.array, ndim - (dense_dim or 0))


# ---- coalesce
coalesce_op = defop(
    "_coalesce(Tensor self) -> Tensor",
    kernel=None, vjp=dict(self=lambda grad: grad), batch=unbatched, variants="", out=False,
)


@sparse_kernel("_coalesce")
def coalesce_kernel(op: OpDef, self: Any) -> Any:
    return coalesced(self)


def need_coo(name: str, t: Any) -> None:
    if not is_coo(t):
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {layout_name(t)}")


@expose(plain=False)
def coalesce(self: Any) -> Any:
    """The tensor itself if it is coalesced, else a coalesced one."""
    need_coo("coalesce", self)
    return self if data_of(self).coalesced else call(coalesce_op, [self])


@expose(plain=False)
def is_coalesced(self: Any) -> bool:
    need_coo("is_coalesced", self)
    return bool(data_of(self).coalesced)


# ---- parts
def values_gradient(grad: Any, self: Any) -> Any:
    if is_coo(self):
        return coo_unsafe(late._indices(self), grad, self.array.shape, True)
    return hooks.compressed_like(self, grad)


values_op = defop(
    "values(Tensor(a) self) -> Tensor(a)",
    kernel=None, vjp=dict(self=values_gradient), batch=unbatched, variants="method", out=False,
)
indices_op = defop("indices(Tensor(a) self) -> Tensor(a)", kernel=None, batch=unbatched, variants="method", out=False)


@sparse_kernel("values")
def values_kernel(op: OpDef, self: Any) -> Any:
    if not is_coo(self):
        raise RuntimeError(f"values expected sparse tensor layout but got {layout_name(self)}")
    if not data_of(self).coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return new_tensor(values_of(self))


@sparse_kernel("indices")
def indices_kernel(op: OpDef, self: Any) -> Any:
    need_coo("indices", self)
    if not data_of(self).coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return new_tensor(data_of(self).indices.array)


@compressed_kernel("indices")
def no_indices(op: OpDef, self: Any) -> Any:
    need_coo("indices", self)


@expose(plain=False)
def _values(self: Any) -> Any:
    """The values as they are stored, coalesced or not; not differentiable."""
    if not is_coo(self):
        raise missing_simple("_values", self)
    return alias(data_of(self).values)


@expose(plain=False)
def _indices(self: Any) -> Any:
    """The indices as they are stored, coalesced or not."""
    if not is_coo(self):
        raise missing_simple("_indices", self)
    return alias(data_of(self).indices)


@expose(plain=False)
def _nnz(self: Any) -> int:
    """The number of stored entries."""
    if not is_sparse(self):
        raise missing_simple("_nnz", self)
    return int(data_of(self).values.array.shape[0]) if is_coo(self) else int(data_of(self).plain.array.shape[-1])


@expose(plain=False)
def sparse_dim(self: Any) -> int:
    """The number of dimensions that are sparse."""
    return (sparse_dim_of(self) if is_coo(self) else 2) if is_sparse(self) else 0


@expose(plain=False)
def dense_dim(self: Any) -> int:
    """The number of dimensions that are dense."""
    if not is_sparse(self):
        return int(self.array.ndim)
    return int(data_of(self).values.array.ndim) - 1 if is_coo(self) else int(data_of(self).dense_dim)


expose(sparse_dim, name="_dimI", plain=False)
expose(dense_dim, name="_dimV", plain=False)


def blocksize_of(t: Any) -> Any:
    """The size of the blocks of a tensor that has some, None otherwise."""
    return None if not is_sparse(t) or is_coo(t) else data_of(t).blocksize


# ---- masks
def mask_gradient(grad: Any, mask: Any, self_layout: Any) -> Any:
    if not is_coo(mask):
        kept = late.sparse_mask(late.to_dense(grad), mask) if not is_sparse(grad) else grad
        return late.to_dense(kept) if self_layout is strided else kept
    need_coo("is_coalesced", grad)
    data = data_of(mask)
    if not data.coalesced:                         # duplicate positions of the mask count twice
        kept = call(mask_projection, [grad, mask, True])
        return late.to_dense(kept) if self_layout is strided else kept
    ones = late.ones_like(alias(data.values), dtype=grad.dtype)
    kept = grad * coo_unsafe(alias(data.indices), ones, mask.array.shape, data.coalesced)
    return late.to_dense(kept) if self_layout is strided else kept


sparse_mask_op = defop(
    "sparse_mask(Tensor self, Tensor mask) -> Tensor",
    kernel=None, vjp=dict(self=mask_gradient), batch=unbatched, variants="method", out=False,
)


mask_projection = defop(
    "_sparse_mask_projection(Tensor self, Tensor mask, bool accumulate_matches=False) -> Tensor",
    kernel=None, vjp=dict(self=lambda grad, mask, accumulate_matches: call(mask_projection, [grad, mask, accumulate_matches])),
    batch=unbatched, variants="method", out=False,
)


@sparse_kernel("_sparse_mask_projection")
def mask_projection_kernel(op: OpDef, self: Any, mask: Any, accumulate_matches: bool) -> Any:
    """The entries of `self`, zero where `mask` has none; times the number of those it has, if they accumulate."""
    data = data_of(mask)
    ones = lean.ones((data.values.array.shape[0],), self.array.dtype)
    counted = new_coo(data.indices.array, ones, mask.array.shape[:sparse_dim_of(mask)], data.coalesced)
    counts, found = rows_at(counted, data_of(self).indices.array)
    weights = counts if accumulate_matches else found.astype(counts.dtype)
    values = values_of(self)
    made = values * weights.reshape(-1, *(1,) * (values.ndim - 1))
    return new_coo(data_of(self).indices.array.copy(), made, self.array.shape, data_of(self).coalesced)


@sparse_kernel("sparse_mask")
def sparse_mask_kernel(op: OpDef, self: Any, mask: Any) -> Any:
    if not is_coo(mask):
        raise missing_simple("_nnz", mask) if is_sparse(self) else missing(op, [self, mask], "CPU")
    if self.array.shape != mask.array.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.array.shape)} but mask "
                           f"has size {list(mask.array.shape)}")
    data = data_of(mask)
    split = sparse_dim_of(mask)
    if is_coo(self) and sparse_dim_of(self) == split:
        values = rows_at(self, data.indices.array)[0]
    else:
        whole = dense_array(self) if is_coo(self) else self.array
        rows = whole.reshape(row_count(whole.shape[:split]), *whole.shape[split:])
        values = rows[keys_of(data.indices.array, whole.shape)]
    return sparse_tensor(Coo(new_tensor(data.indices.array.copy()), new_tensor(values), data.coalesced), mask.array.shape)


# ---- copies
@sparse_kernel("clone")
def clone_kernel(op: OpDef, self: Any, memory_format: Any) -> Any:
    if memory_format is not None and memory_format.name != "preserve_format":
        raise RuntimeError(f"unsupported memory format option {FORMATS.get(memory_format.name, memory_format.name)}")
    return copied(self, None)


FORMATS = {"contiguous_format": "Contiguous", "channels_last": "ChannelsLast", "channels_last_3d": "ChannelsLast3d"}


def copied(self: Any, dtype: Any) -> Any:
    """A new tensor with the same entries."""
    data = data_of(self)
    indices, values = data.indices.array, data.values.array
    made = np.empty_like(values, dtype=dtype) if 0 not in values.strides else np.empty(values.shape, dtype or values.dtype)
    made[...] = cast_array(values, made.dtype)
    return sparse_tensor(Coo(new_tensor(indices.copy()), new_tensor(made), data.coalesced), self.array.shape)


@sparse_kernel("_to_copy")
def to_copy_kernel(op: OpDef, self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool,
                   memory_format: Any) -> Any:
    if layout is not None and layout is not layout_of(self):
        raise RuntimeError("to(options) doesn't support converting to a different layout, but got self.layout being "
                           f"{layout_name(self)} and options.layout set as {layout_name(layout)}")
    return copied(self, None if dtype is None else dtype.numpy)


@sparse_kernel("detach", "alias")
@compressed_kernel("detach", "alias")
def alias_kernel(op: OpDef, self: Any) -> Any:
    return alias(self)


@sparse_kernel("copy_")
def copy_kernel(op: OpDef, self: Any, src: Any, non_blocking: bool) -> Any:
    if not (is_coo(self) and is_coo(src)):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{late.type(self)} and src type = {late.type(src)}")
    if self.array.shape != src.array.shape:
        late.sparse_resize_(self, tuple(src.array.shape), sparse_dim_of(src), dense_dim_of(src))       # may raise
    replace(self, copied(src, None))
    return self


hooks.layout = layout_of
hooks.blocksize = blocksize_of
