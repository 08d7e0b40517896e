"""Sums, norms and softmax of sparse COO tensors."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.families import wrap_dim
from retrograd.ops.sparse.convert import need_coo
from retrograd.ops.sparse.coo import (
    coalesced,
    data_of,
    indices_of,
    is_coo,
    is_sparse,
    keys_of,
    layout_name,
    new_coo,
    rows_at,
    sparse_dim_of,
    values_of,
)
from retrograd.ops.sparse.shape import unsqueezed
from retrograd.ops.sparse.table import missing, on_values, sparse_kernel, unbatched


@sparse_kernel("sum")
def sum_kernel(op: OpDef, self: Any, dtype: Any) -> Any:
    return on_values(op, data_of(self).values, dtype)


@sparse_kernel("any", "any.dims")
def any_kernel(op: OpDef, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim:
        raise missing(op, [self], "SparseCPU")
    return new_tensor(np.asarray(values_of(coalesced(self)).any()))


@sparse_kernel("linalg_vector_norm")
def norm_kernel(op: OpDef, self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim and len(dim) != self.array.ndim:
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
                           "dimensions of the input")
    return on_values(op, new_tensor(values_of(coalesced(self)).reshape(-1)), ord, None, False, dtype)


@sparse_kernel("sum.dim_IntList")
def sum_dim_kernel(op: OpDef, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    ndim = self.array.ndim
    dims = families.wrap_dims(dim, ndim) if dim else tuple(range(ndim))
    if dtype is not None:
        self = late.to(self.detach(), dtype)
    elif self.dtype.category < 2:
        self = late.to(self.detach(), late.sum(data_of(self).values).dtype)
    made = summed(self, dims)
    if not keepdim:
        return made
    for d in sorted(dims):
        made = unsqueezed(made, d) if is_sparse(made) else new_tensor(lean.expand_dims(made.array, d))
    return made


def summed(self: Any, dims: Any) -> Any:
    """The sum over `dims`; dense if no sparse dimension is left."""
    own = coalesced(self)
    split = sparse_dim_of(own)
    indices, values = indices_of(own), values_of(own)
    inner = tuple([d - split + 1 for d in dims if d >= split])
    if inner:
        values = values.sum(inner, dtype=values.dtype)
    kept = [d for d in range(split) if d not in dims]
    shape = tuple([n for d, n in enumerate(self.array.shape) if d not in dims])
    if not kept:
        return new_tensor(np.asarray(values.sum(0, dtype=np.int64 if values.dtype.kind in "iub" else values.dtype)))
    if len(kept) == split:
        return new_coo(indices.copy(), values, shape, True)
    made = coalesced(new_coo(np.ascontiguousarray(indices[kept]), values, shape))
    made._extra.sparse.coalesced = True
    return made


# ---- torch.sparse.sum
def sum_gradient(grad: Any, self: Any, dim: Any) -> Any:
    return call(sparse_sum_backward, [grad, self, dim])


sparse_sum_dim = defop(
    "_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor",
    kernel=None, vjp=dict(self=sum_gradient), batch=unbatched, node="SparseSumBackward0", variants="", out=False,
)
sparse_sum_backward = defop(
    "_sparse_sum_backward(Tensor grad, Tensor self, int[] dim) -> Tensor",
    kernel=None, vjp=dict(grad=lambda grads, self, dim: call(sparse_sum_dim, [on_places_of(grads[0], self), dim])),
    batch=unbatched, variants="", out=False,
    out_form="out",
)


def on_places_of(t: Any, other: Any) -> Any:
    """The entries of `t` at the positions of another sparse tensor."""
    return late.sparse_mask(t, late.coalesce(other.detach()))


def pooled(t: Any, other: Any, dim: int) -> Any:
    """The sums of `t` along `dim`, at each place of `other`."""
    return call(sparse_sum_backward, [call(sparse_sum_dim, [t, (dim,)]), other, (dim,)])


@sparse_kernel("_sparse_sum.dim")
def sparse_sum_kernel(op: OpDef, self: Any, dim: Any) -> Any:
    dims = families.wrap_dims(dim, self.array.ndim)
    if dims and not self.array.ndim:
        raise RuntimeError(f"Trying to create tensor with negative dimension -1: [-1, {len(values_of(self))}]")
    return summed(self, dims)


@sparse_kernel("_sparse_sum_backward")
def sparse_sum_backward_kernel(op: OpDef, grad: Any, self: Any, dim: Any) -> Any:
    own = coalesced(self)
    dims = families.wrap_dims(dim, self.array.ndim)
    split = sparse_dim_of(own)
    indices, values = indices_of(own), values_of(own)
    kept = [d for d in range(split) if d not in dims]
    if kept and not is_coo(grad):
        raise RuntimeError("_sparse_sum_backward_cpu: expected grad_ Tensor to be sparse, but got dense")
    if not kept and is_sparse(grad):
        raise RuntimeError("_sparse_sum_backward_cpu: expected grad Tensor to be dense since all sparse dims are summed")
    rows = rows_at(grad, indices[kept])[0] if kept else lean.broadcast_to(grad.array, (values.shape[0], *grad.array.shape))
    for d in sorted([d - split + 1 for d in dims if d >= split]):
        rows = lean.expand_dims(rows, d)
    made = np.ascontiguousarray(lean.broadcast_to(rows, values.shape))
    return new_coo(indices.copy(), made.astype(values.dtype, copy=False), self.array.shape, True)


# ---- softmax over the stored entries
def softmax_gradient(grad: Any, result: Any, dim: int, self: Any) -> Any:
    return call(softmax_backward, [grad, result, dim, self])


def log_softmax_gradient(grad: Any, result: Any, dim: int, self: Any) -> Any:
    return call(log_softmax_backward, [grad, result, dim, self])


# With y the softmax and S the sum along the dimension, these are derivatives of y (g - S(g y)) and of g - y S(g).
def softmax_gradient_again(grad: Any, output: Any, dim: int, self: Any) -> Any:
    return call(softmax_backward, [grad, output, dim, self])


def softmax_output_gradient(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    grad, given = on_places_of(grad, output), on_places_of(grad_output, output)
    return grad * given - grad * pooled(given * output, output, dim) - given * pooled(grad * output, output, dim)


def log_softmax_gradient_again(grad: Any, output: Any, dim: int, self: Any) -> Any:
    grad = on_places_of(grad, output)
    return grad - pooled(grad * call(sparse_softmax, [self, dim, False]), output, dim)


def log_softmax_output_gradient(grad: Any, grad_output: Any, output: Any, dim: int, self: Any) -> Any:
    grad, given = on_places_of(grad, output), on_places_of(grad_output, output)
    return -(grad * call(sparse_softmax, [self, dim, False]) * pooled(given, output, dim))


sparse_softmax = defop("_sparse_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", kernel=None,
                       vjp=dict(self=softmax_gradient), batch=unbatched, variants="", out=False)
sparse_log_softmax = defop("_sparse_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", kernel=None,
                           vjp=dict(self=log_softmax_gradient), batch=unbatched, variants="", out=False)
softmax_backward = defop(
    "_sparse_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor",
    kernel=None, vjp=dict(grad_output=softmax_gradient_again, output=softmax_output_gradient), batch=unbatched, variants="",
    out=False)
log_softmax_backward = defop(
    "_sparse_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor",
    kernel=None, vjp=dict(grad_output=log_softmax_gradient_again, output=log_softmax_output_gradient), batch=unbatched,
    variants="", out=False)


def pool_reduce(t: Any, dim: int, values: Any, ufunc: Any) -> Any:
    """Reduce `values` over the entries that differ only in `dim`, or over a dense dimension; spread out again."""
    split = sparse_dim_of(t)
    if dim >= split:
        return lean.broadcast_to(ufunc.reduce(values, axis=dim - split + 1, keepdims=True), values.shape)
    others = [d for d in range(split) if d != dim]
    keys = keys_of(indices_of(t)[others], [t.array.shape[d] for d in others])
    places, inverse = np.unique(keys, return_inverse=True)
    start = -np.inf if ufunc is np.maximum else 0
    made = lean.full((places.shape[0], *values.shape[1:]), start, values.dtype)
    ufunc.at(made, inverse, values)
    return made[inverse]


@sparse_kernel("_sparse_softmax", "_sparse_log_softmax")
def softmax_kernel(op: OpDef, self: Any, dim: int, half_to_float: bool) -> Any:
    need_coo(op.name.lstrip("_"), self)
    own = coalesced(self)
    dim = wrap_dim(dim, self.array.ndim)
    if not self.array.ndim:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    values = values_of(own)
    shifted = values - pool_reduce(own, dim, values, np.maximum)
    powers = np.exp(shifted)
    total = pool_reduce(own, dim, powers, np.add)
    made = powers / total if op.name == "_sparse_softmax" else shifted - np.log(total)
    return new_coo(indices_of(own).copy(), made.astype(values.dtype, copy=False), self.array.shape, True)


@sparse_kernel("_sparse_softmax_backward_data", "_sparse_log_softmax_backward_data")
def softmax_backward_kernel(op: OpDef, grad_output: Any, output: Any, dim: int, self: Any) -> Any:
    if not is_coo(grad_output):
        raise RuntimeError(f"coalesce expected sparse coordinate tensor layout but got {layout_name(grad_output)}")
    own = coalesced(output)
    dim = wrap_dim(dim, self.array.ndim)
    out, grad = values_of(own), rows_at(grad_output, indices_of(own))[0]
    if op.name == "_sparse_softmax_backward_data":
        made = out * (grad - pool_reduce(own, dim, grad * out, np.add))
    else:
        made = grad - np.exp(out) * pool_reduce(own, dim, grad, np.add)
    return new_coo(indices_of(own).copy(), made.astype(out.dtype, copy=False), self.array.shape, True)


