"""Matrix products with sparse COO matrices."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.opdef import NOT_IMPLEMENTED, OpDef, defop
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.linalg.matmul import expandable
from retrograd.ops.shared.elementwise import unsupported
from retrograd.ops.shared.families import conj
from retrograd.ops.sparse.coo import (
    coalesced,
    indices_of,
    is_coo,
    is_sparse,
    layout_name,
    layout_of,
    new_coo,
    sparse_dim_of,
    values_of,
)
from retrograd.ops.sparse.table import sparse_kernel, unbatched


def same_dtype(a: Any, b: Any) -> None:
    if a.array.dtype != b.array.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.legacy} but found {b.dtype.legacy}")


def check_matrix(t: Any) -> None:
    if sparse_dim_of(t) != 2:
        raise RuntimeError(f"addmm: matrices expected, got {sparse_dim_of(t)}D tensor")
    if t.array.ndim != 2:
        raise RuntimeError(f"addmm: scalar values expected, got {t.array.ndim - 1}D values")


def sparse_times_dense(sparse: Any, dense: Any) -> Any:
    """The rows of `dense`, weighted by the entries and added up."""
    check_matrix(sparse)
    if dense.array.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if dense.array.ndim > 2:
        raise RuntimeError(f"addmm: matrices expected, got {dense.array.ndim}D tensor")
    rows, columns = sparse.array.shape
    if dense.array.shape[0] != columns:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {columns}, got {dense.array.shape[0]}")
    same_dtype(sparse, dense)
    if dense.array.dtype.kind == "b":
        raise unsupported("addmm_sparse_dense", dense.array.dtype)
    made = np.zeros((rows, dense.array.shape[1]), dense.array.dtype)
    indices, values = indices_of(sparse), values_of(sparse)
    np.add.at(made, indices[0], values[:, None] * dense.array[indices[1]])
    return made


def flipped(t: Any) -> Any:
    """The transpose of a sparse or dense matrix, below autograd."""
    if not is_sparse(t):
        return new_tensor(t.array.T)
    return new_coo(indices_of(t)[::-1], values_of(t), t.array.shape[::-1])


def matrix_product(a: Any, b: Any) -> Any:
    """The product as an array, one of the two being sparse."""
    if is_sparse(a):
        return sparse_times_dense(a, b)
    return sparse_times_dense(flipped(b), new_tensor(np.ascontiguousarray(a.array.T))).T


def sparse_times_sparse(a: Any, b: Any) -> Any:
    """The product of two sparse matrices: every entry of `a` multiplies the row of `b` given by its column."""
    check_matrix(a)
    check_matrix(b)
    same_dtype(a, b)
    (m, k), (l, n) = a.array.shape, b.array.shape
    if k != l:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {l}x{n})")
    a, b = coalesced(a), coalesced(b)
    (ai, aj), (bi, bj) = indices_of(a), indices_of(b)
    starts = np.searchsorted(bi, np.arange(l + 1))
    counts = (starts[1:] - starts[:-1])[aj]
    left = np.repeat(np.arange(aj.shape[0]), counts)
    offsets = np.arange(left.shape[0]) - np.repeat(np.cumsum(counts) - counts, counts)
    right = starts[aj[left]] + offsets
    products = values_of(a)[left] * values_of(b)[right]
    return coalesced(new_coo(lean.stack([ai[left], bj[right]]), products, (m, n)))


@sparse_kernel("mm")
def mm_kernel(op: OpDef, self: Any, mat2: Any) -> Any:
    if is_sparse(self) and is_sparse(mat2):
        made = sparse_times_sparse(self, mat2)
        made._extra.sparse.coalesced = True
        return made
    return new_tensor(matrix_product(self, mat2))


@sparse_kernel("bmm")
def bmm_kernel(op: OpDef, self: Any, mat2: Any) -> Any:
    """The products of a batch of sparse matrices, numbered by their first coordinate."""
    if not is_sparse(self) or is_sparse(mat2):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense" if is_sparse(self) else
                           "bmm: the first batch must be sparse")
    for name, t in (("self", self), ("mat2", mat2)):
        if t.array.ndim != 3:
            raise RuntimeError(f"bmm_sparse: expected {name} to have 3 dimensions, got {t.array.ndim}")
    (n, rows, inner), (m, length, columns) = self.array.shape, mat2.array.shape
    for mine, other, places in ((n, m, (0, 0)), (inner, length, (2, 1))):
        if mine != other:
            raise RuntimeError(f"bmm_sparse: 'self.size({places[0]})' and 'mat2.size({places[1]})' must match\n"
                               f"They are {mine} and {other}.")
    same_dtype(self, mat2)
    made = np.zeros((n, rows, columns), mat2.array.dtype)
    which, row, column = indices_of(self)
    np.add.at(made, (which, row), values_of(self)[:, None] * mat2.array[which, column])
    return new_tensor(made)


@sparse_kernel("mv")
def mv_kernel(op: OpDef, self: Any, vec: Any) -> Any:
    if is_sparse(vec) or self.array.ndim != 2 or vec.array.ndim != 1:
        raise RuntimeError("mv: two tensor dim should be 2 and 1, but got "
                           f"SparseTensor Dim: {self.array.ndim} Tensor Dim: {vec.array.ndim}")
    if self.array.shape[1] != vec.array.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return new_tensor(sparse_times_dense(self, new_tensor(vec.array[:, None]))[:, 0])


@sparse_kernel("addmm", "_sparse_addmm")
def addmm_kernel(op: OpDef, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if is_sparse(self):
        raise RuntimeError(f"addmm_sparse_dense: expected strided result tensor, got tensor with layout {layout_name(self)}")
    if is_sparse(mat1) and is_sparse(mat2):
        made = late.to_dense(sparse_times_sparse(mat1, mat2)).array
    elif is_sparse(mat1) or is_sparse(mat2):
        made = matrix_product(mat1, mat2)
    else:
        made = mat1.array @ mat2.array
    expandable(self.array, made.shape)
    if alpha != 1:
        made = made * made.dtype.type(alpha)
    if beta != 0:
        made = made + (self.array if beta == 1 else self.array * self.array.dtype.type(beta))
    return new_tensor(made)


# ---- torch.sparse.mm and addmm, whose gradients for the sparse operand are sparse too
def addmm_sparse_gradient(grad: Any, mat1: Any, mat2: Any, alpha: Any) -> Any:
    """The gradient of a sparse left operand: only where it has entries."""
    if is_sparse(grad) or is_sparse(mat2):
        raise RuntimeError("sparse_addmm_sparse_backward: unsupported combination of layouts, grad: "
                           f"{layout_name(grad)}, mat1: {layout_name(mat1)}, mat2: {layout_name(mat2)}")
    if not is_sparse(mat1):
        made = grad.mm(conj(mat2.t()))
    else:
        made = late.sparse_mask(grad.mm(conj(mat2.t())), late.coalesce(mat1) if is_coo(mat1) else mat1)
    return made if alpha == 1 else made * conj(alpha)


def addmm_dense_gradient(grad: Any, mat1: Any, mat2_sym_sizes: Any, mat2_sym_strides: Any, alpha: Any) -> Any:
    made = conj(mat1.t()).mm(grad)
    return made if alpha == 1 else made * conj(alpha)


sparse_addmm = defop(
    "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=None, vjp=dict(self=lambda grad, beta: grad if beta == 1 else grad * conj(beta), mat1=addmm_sparse_gradient,
                          mat2=addmm_dense_gradient),
    batch=unbatched, variants="", out=False,
)


def zeros_for(a: Any, b: Any, rows: int, columns: int) -> Any:
    return new_tensor(np.zeros((rows, columns), (b if is_sparse(a) else a).array.dtype))


def sparse_mm_tensors(sparse: Any, dense: Any) -> Any:
    if is_coo(sparse) and is_coo(dense):
        return call(sparse_sparse_matmul, [sparse, dense])
    if is_sparse(sparse) and is_sparse(dense):
        return late.mm(sparse, dense)
    if is_coo(sparse):
        zeros = zeros_for(sparse, dense, sparse.size(-2), dense.size(-1)).expand((sparse.size(0), dense.size(1)))
        return call(sparse_addmm, [zeros, sparse, dense, 0, 1])
    rows, columns = sparse.array.shape[0], dense.array.shape[-1]
    if is_sparse(sparse):
        return call(sparse_addmm, [zeros_for(sparse, dense, rows, columns), sparse, dense, 0, 1])
    zeros = zeros_for(sparse, dense, columns, rows)
    return call(sparse_addmm, [zeros, dense.transpose(-2, -1), sparse.transpose(-2, -1), 0, 1]).transpose(-2, -1)


sparse_mm = defop("_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", kernel=sparse_mm_tensors, composite=True, out=False,
                  variants="function")


def matmul_left_gradient(grad: Any, self: Any, other: Any) -> Any:
    return late.sparse_mask(call(sparse_sparse_matmul, [grad, conj(other).t()]), late.coalesce(self))


def matmul_right_gradient(grad: Any, self: Any, other: Any) -> Any:
    return late.sparse_mask(call(sparse_sparse_matmul, [conj(self).t(), grad]), late.coalesce(other))


sparse_sparse_matmul = defop(
    "_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor",
    kernel=None, vjp=dict(self=matmul_left_gradient, other=matmul_right_gradient), batch=unbatched, variants="", out=False,
)


@sparse_kernel("_sparse_sparse_matmul")
def sparse_sparse_matmul_kernel(op: OpDef, self: Any, other: Any) -> Any:
    if not is_coo(self) or not is_coo(other):
        raise RuntimeError(f"_sparse_sparse_matmul: expected two sparse tensors, got {layout_of(self)} and {layout_of(other)}")
    made = sparse_times_sparse(self, other)
    made._extra.sparse.coalesced = True
    return made


# ---- products with sparse results and a dense operand
def sparse_alone(name: str) -> Any:
    """The kernel for dense operands of an op that needs a sparse one."""
    def refuse(xp: Any, *args: Any) -> Any:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: its first argument "
                                  "must be sparse")
    return refuse


smm = defop("smm(Tensor self, Tensor mat2) -> Tensor", kernel=None, vjp=NOT_IMPLEMENTED, batch=unbatched, out=False,
            node="NotImplemented")
hspmm = defop("hspmm(Tensor mat1, Tensor mat2) -> Tensor", kernel=sparse_alone("hspmm"), vjp=NOT_IMPLEMENTED, batch=unbatched,
              out=False, variants="function", node="NotImplemented")


def need_sparse(t: Any) -> None:
    if not is_coo(t):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")


@sparse_kernel("smm")
def smm_kernel(op: OpDef, self: Any, mat2: Any) -> Any:
    need_sparse(self)
    whole = sparse_times_dense(self, mat2)
    rows = np.unique(indices_of(self)[0])
    columns = np.arange(whole.shape[1])
    indices = lean.stack([np.repeat(rows, columns.shape[0]), np.tile(columns, rows.shape[0])])
    return new_coo(indices, whole[rows].reshape(-1), whole.shape)


@sparse_kernel("hspmm")
def hspmm_kernel(op: OpDef, mat1: Any, mat2: Any) -> Any:
    whole = sparse_times_dense(mat1, mat2)
    rows = np.unique(indices_of(mat1)[0])
    return new_coo(rows[None], whole[rows], whole.shape)


@expose(method=False)
def dsmm(sparse: Any, dense: Any) -> Any:
    """The dense product of a sparse matrix with a matrix.

    >>> import retrograd as torch
    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return late.mm(sparse, dense)


@expose(schema="sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
def sspaddmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * self + alpha * (mat1 @ mat2) as a sparse tensor, `self` and `mat1` being sparse.

    >>> import retrograd as torch
    >>> torch.sspaddmm(torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), torch.eye(2)).to_dense()
    tensor([[2., 0.],
            [0., 2.]])
    """
    return self * beta + late.smm(mat1, mat2) * alpha


@expose(method=False)
def _convert_indices_from_coo_to_csr(input: Any, size: int, *, out_int32: bool = False, out: Any = None) -> Any:
    """The number of entries before each row, from sorted row numbers."""
    counts = np.bincount(input.array, minlength=size)[:size]
    made = new_tensor(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32 if out_int32 else np.int64))
    return made if out is None else out.copy_(made)


@expose(method=False)
def _convert_indices_from_csr_to_coo(crow_indices: Any, col_indices: Any, *, out_int32: bool = False, transpose: bool = False,
                                     out: Any = None) -> Any:
    """The row and the column of every entry."""
    rows = np.repeat(np.arange(crow_indices.array.shape[0] - 1), np.diff(crow_indices.array))
    pair = [col_indices.array, rows] if transpose else [rows, col_indices.array]
    made = new_tensor(np.stack(pair).astype(np.int32 if out_int32 else np.int64))
    return made if out is None else out.copy_(made)
