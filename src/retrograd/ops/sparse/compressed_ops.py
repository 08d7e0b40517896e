"""Ops on tensors in compressed layouts: constructors, conversions, and the kernels that PyTorch has for them."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.api import expose
from retrograd.core.dispatch import call, compute
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, defop
from retrograd.core.saved import alias
from retrograd.core.tensor import Tensor, new_tensor
from retrograd.ops.memory.copy import cast_array, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import unsupported
from retrograd.ops.sparse import pointwise, products, reductions
from retrograd.ops.sparse import shape as shapes
from retrograd.ops.sparse.compressed import (
    BY_ROW,
    IN_BLOCKS,
    Compressed,
    as_coo,
    dense_of,
    is_batch,
    is_compressed,
    masked,
    matrices_of,
    matrix_of,
    new_compressed,
    stacked,
    to_compressed,
    with_entry_values,
)
from retrograd.ops.sparse.convert import blocksize_of, sparse_gradient
from retrograd.ops.sparse.coo import (
    coalesced,
    common_dtype,
    data_of,
    empty_coo,
    is_coo,
    is_sparse,
    layout_name,
    layout_of,
    replace,
)
from retrograd.ops.sparse.table import KEEPS_ZERO, compressed_kernel, on_values, sparse_kernel, unbatched

FLIPPED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


# ---- conversions
def declare(layout: Any, blocks: bool) -> None:
    """Declare to_sparse_csr and similar conversions: the recorded op and the method that calls it."""
    short = layout.name.removeprefix("sparse_")
    size = "int[2] blocksize, " if blocks else ""
    op = defop(f"_to_sparse_{short}(Tensor self, {size}int? dense_dim=None) -> Tensor", kernel=None,
               vjp=dict(self=sparse_gradient), batch=unbatched, variants="", out=False, real_only=True)

    def kernel(op: OpDef, self: Any, *rest: Any) -> Any:
        return to_compressed(self, layout, rest[0] if blocks else None, rest[-1])

    def method(self: Any, *rest: Any) -> Any:
        if layout_of(self) is layout and (not blocks or tuple(rest[0]) == blocksize_of(self)):
            return self
        return call(op, [self, *rest])

    sparse_kernel(f"_to_sparse_{short}")(kernel)
    compressed_kernel(f"_to_sparse_{short}")(kernel)
    defop(f"to_sparse_{short}(Tensor self, {size}int? dense_dim=None) -> Tensor", kernel=method, composite=True,
          variants="method", out=False)


for kind in (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc):
    declare(kind, kind in IN_BLOCKS)


@compressed_kernel("_to_dense")
def to_dense_kernel(op: OpDef, self: Any, dtype: Any, masked_grad: Any) -> Any:
    made = dense_of(self)
    return new_tensor(made if dtype is None else cast_array(made, dtype.numpy))


@compressed_kernel("_to_sparse")
def to_sparse_kernel(op: OpDef, self: Any, layout: Any, blocksize: Any, dense_dim: Any) -> Any:
    if layout is not None and layout is not sparse_coo:
        return to_compressed(self, layout, blocksize, dense_dim)
    return as_coo(self)


@compressed_kernel("_to_sparse.sparse_dim")
def to_sparse_dim_kernel(op: OpDef, self: Any, sparse_dim: int) -> Any:
    if sparse_dim != 2:
        raise RuntimeError(f"sparse_compressed_to_sparse: conversion from {layout_name(self)} to Sparse with sparse_dim "
                           "argument !=2 is not supported")
    return as_coo(self)


@compressed_kernel("slice.Tensor", "unsqueeze", "squeeze", "squeeze.dim", "unfold", "diagonal")
def no_strides(op: OpDef, self: Any, *rest: Any) -> Any:
    raise RuntimeError(f"Sparse {data_of(self).layout.name[-3:].upper()} tensors do not have strides")


@compressed_kernel("reshape", "_reshape_alias", "flatten.using_ints")
def no_geometry(op: OpDef, self: Any, *rest: Any) -> Any:
    raise RuntimeError(f"Sparse {data_of(self).layout.name[-3:].upper()} tensors do not have is_contiguous")


@compressed_kernel("expand")
def no_expansion(op: OpDef, self: Any, *rest: Any) -> Any:
    raise RuntimeError(f"expand is unsupported for {layout_name(self)} tensors")


@compressed_kernel("angle")
def angle_kernel(op: OpDef, self: Any) -> Any:
    return with_entry_values(self, on_values(op, data_of(self).values))


@compressed_kernel("sparse_mask")
def sparse_mask_kernel(op: OpDef, self: Any, mask: Any) -> Any:
    if not is_compressed(mask):
        raise RuntimeError(f"sparse_mask: expected a mask of a compressed layout but got {layout_name(mask)}")
    if self.array.shape != mask.array.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.array.shape)} but mask "
                           f"has size {list(mask.array.shape)}")
    return masked(self, mask)


# ---- parts
@compressed_kernel("values")
def values_kernel(op: OpDef, self: Any) -> Any:
    return new_tensor(data_of(self).values.array)


def getter(name: str, by_row: bool, part: str) -> None:
    def get(self: Any) -> Any:
        if not is_compressed(self) or (data_of(self).layout in BY_ROW) is not by_row:
            raise RuntimeError(f"{name} expected sparse {'row' if by_row else 'column'} compressed tensor layout but got "
                               f"{layout_name(self)}")
        return alias(getattr(data_of(self), part))
    get.__name__ = name
    expose(get, name=name, plain=False)


getter("crow_indices", True, "compressed")
getter("col_indices", True, "plain")
getter("ccol_indices", False, "compressed")
getter("row_indices", False, "plain")


# ---- the parts as tensors
def copier(name: str) -> None:
    def copy(self: Any) -> Any:
        return getattr(self, name)().clone()
    expose(copy, name=f"{name}_copy", method=False)


for part_name in ("crow_indices", "col_indices", "ccol_indices", "row_indices", "values", "indices"):
    copier(part_name)


# ---- elementwise
@compressed_kernel("abs_")
def abs_in_place(op: OpDef, self: Any) -> Any:
    return assigned(self, with_entry_values(self, data_of(self).values.detach().abs()))


@sparse_kernel("abs_")
def abs_in_place_coo(op: OpDef, self: Any) -> Any:
    own = coalesced(self)
    replace(self, pointwise.with_values(own, data_of(own).values.detach().abs()))
    return self


@compressed_kernel(KEEPS_ZERO, "neg", "conj_physical", "_conj_physical", "positive")
def on_entry_values(op: OpDef, self: Any, *rest: Any) -> Any:
    return with_entry_values(self, on_values(op, data_of(self).values, *rest))


def back(made: Any, like: Any) -> Any:
    """A COO result in the layout of an operand."""
    made = coalesced(made)
    return to_compressed(made, layout_of(like), blocksize_of(like), None)


@compressed_kernel("mul.Tensor", "mul.Scalar")
def mul_kernel(op: OpDef, self: Any, other: Any) -> Any:
    if not is_compressed(self):
        return mul_kernel(op, other, self)
    if not isinstance(other, Tensor) or other.array.ndim == 0 and not is_sparse(other):
        return with_entry_values(self, on_values(op, data_of(self).values, other))
    if is_sparse(other):
        return back(pointwise.sparse_product(op, coalesced(as_coo(self)), coalesced(matrix_of(other))), self)
    whole = new_tensor(np.ascontiguousarray(lean.broadcast_to(other.array, self.array.shape)))
    dtype = common_dtype(self, other)
    values = data_of(self).values.array * data_of(masked(whole, self)).values.array
    return with_entry_values(self, new_tensor(values.astype(dtype, copy=False)))


@compressed_kernel("mul_.Tensor", "mul_.Scalar")
def mul_in_place(op: OpDef, self: Any, other: Any) -> Any:
    return assigned(self, mul_kernel(op.functional, self, other))


@compressed_kernel("add.Tensor")
def add_kernel(op: OpDef, self: Any, other: Any, alpha: Any) -> Any:
    if is_batch(self) and is_batch(other) and self.array.shape == other.array.shape:
        pairs = zip(matrices_of(self), matrices_of(other), strict=True)
        return stacked([add_kernel(op, a, b, alpha) for a, b in pairs], self.array.shape[:data_of(self).batch])
    if is_sparse(self) and is_sparse(other):
        if not (is_compressed(self) and layout_of(self) is layout_of(other)):
            raise RuntimeError(f"add(sparse_csr, sparse) expected operands of one layout but got {layout_name(self)} and "
                               f"{layout_name(other)}")
        made = pointwise.merged(coalesced(as_coo(self)), coalesced(as_coo(other)), alpha, common_dtype(self, other))
        return back(made, self)
    dense, sparse = (other, self) if is_sparse(self) else (self, other)
    if is_sparse(self) and alpha != 1:
        dense = new_tensor(dense.array * dense.array.dtype.type(alpha))
        alpha = 1
    return pointwise.dense_plus_sparse(dense, matrix_of(sparse), alpha)


@compressed_kernel("add_.Tensor")
def add_in_place(op: OpDef, self: Any, other: Any, alpha: Any) -> Any:
    if not is_sparse(self):
        return pointwise.add_in_place(op, self, matrix_of(other), alpha)
    made = add_kernel(op.functional, self, other, alpha)
    return assigned(self, made)


def assigned(self: Any, made: Any) -> Any:
    """Give `self` the data of `made`."""
    if not is_compressed(self):
        raise RuntimeError("Expected result Tensor to be of format CSR")
    if not is_sparse(made):
        raise RuntimeError(pointwise.DENSE_SECOND)
    pointwise.check_cast(made.array.dtype, self)
    data = data_of(made)
    self._extra.sparse = Compressed(data.layout, data.compressed, data.plain,
                                    new_tensor(cast_array(data.values.array, self.array.dtype)))
    return self


@compressed_kernel("zero_")
def zero_in_place(op: OpDef, self: Any) -> Any:
    return assigned(self, emptied(self, self.array.dtype))


def emptied(self: Any, dtype: Any) -> Any:
    data = data_of(self)
    n, plain, values = data.batch, data.plain.array, data.values.array
    return new_compressed(data.layout, lean.zeros_like(data.compressed.array), np.zeros((*plain.shape[:n], 0), plain.dtype),
                          np.zeros((*values.shape[:n], 0, *values.shape[n + 1:]), dtype), self.array.shape)


@compressed_kernel("fill_.Scalar")
def fill_in_place(op: OpDef, self: Any, value: Any) -> Any:
    values = data_of(self).values.array
    return assigned(self, with_entry_values(self, new_tensor(lean.full(values.shape, value, values.dtype))))


# ---- copies
@compressed_kernel("clone")
def clone_kernel(op: OpDef, self: Any, memory_format: Any) -> Any:
    return copied(self, None)


def copied(self: Any, dtype: Any) -> Any:
    data = data_of(self)
    values = data.values.array
    values = values.copy() if dtype is None or values.dtype == dtype else cast_array(values, dtype)
    return new_compressed(data.layout, data.compressed.array.copy(), data.plain.array.copy(), values, self.array.shape)


@compressed_kernel("_to_copy")
def to_copy_kernel(op: OpDef, self: Any, dtype: Any, *rest: Any) -> Any:
    return copied(self, None if dtype is None else dtype.numpy)


@compressed_kernel("copy_")
def copy_kernel(op: OpDef, self: Any, src: Any, non_blocking: bool) -> Any:
    if layout_of(self) is not layout_of(src):
        raise RuntimeError("torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self "
                           f"layout is {layout_name(self)} and src layout is {layout_name(src)}")
    if data_of(self).values.array.shape != data_of(src).values.array.shape:
        raise RuntimeError("torch.copy_: only sparse compressed tensors with the same number of specified elements are "
                           "supported.")
    if self.array.shape != src.array.shape:
        raise RuntimeError(f"torch.copy_: expected shapes of self and src to match but self.shape={list(self.array.shape)} and "
                           f"src.shape={list(src.array.shape)}")
    return assigned(self, copied(src, None))


def resize_compressed(self: Any, size: Any) -> Any:
    """Change the numbers of rows, columns and matrices in place; entries keep their places in memory."""
    shape, data = self.array.shape, data_of(self)
    if len(size) < 2:
        raise RuntimeError(f"torch.resize_: Only batched sparse CSR matrices are supported, but got size {list(size)}")
    if size[-1] < shape[-1]:
        raise RuntimeError("torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. "
                           f"The original number of columns is {shape[-1]} while the requested new number of columns is "
                           f"{size[-1]}.")
    batch, rows, count = tuple(size[:-2]), size[-2], data.plain.array.shape[-1]
    before = data.compressed.array.shape[-1]
    compressed = refitted(data.compressed.array, (*batch, rows + 1))
    compressed[..., before:] = count
    compressed[..., -1] = count
    values = refitted(data.values.array, (*batch, count, *data.values.array.shape[data.batch + 1:]))
    made = new_compressed(data.layout, compressed, refitted(data.plain.array, (*batch, count)), values, size)
    self._extra.sparse, self.array = made._extra.sparse, made.array
    return self


def refitted(array: Any, shape: Any) -> Any:
    """An array of another shape with the same elements in memory order, followed by zeros."""
    made = np.zeros(shape, array.dtype)
    kept = min(made.size, array.size)
    made.reshape(-1)[:kept] = array.reshape(-1)[:kept]
    return made


hooks.resize_compressed = resize_compressed


@compressed_kernel("new_zeros", "new_empty")
def new_zeros_kernel(op: OpDef, self: Any, size: Any, dtype: Any, layout: Any, *rest: Any) -> Any:
    wanted = layout if layout is not None else layout_of(self)
    made = np.zeros(tuple(size), dtype.numpy if dtype is not None else self.array.dtype)
    if wanted is strided:
        return new_tensor(made)
    if wanted in IN_BLOCKS:
        raise RuntimeError("empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
                           f"{layout_name(wanted)}")
    return to_compressed(new_tensor(made), wanted, None, None)


@compressed_kernel("zeros_like", "empty_like", "ones_like")
def like_kernel(op: OpDef, self: Any, dtype: Any, layout: Any, *rest: Any) -> Any:
    wanted = dtype.numpy if dtype is not None else self.array.dtype
    if layout is strided:
        return new_tensor(lean.full(self.array.shape, op.name == "ones_like", wanted))
    if layout is not None and layout is not layout_of(self):
        return other_layout(self, layout, wanted)
    if op.name == "zeros_like":
        return emptied(self, wanted)
    return with_entry_values(self, new_tensor(lean.full(data_of(self).values.array.shape, op.name == "ones_like", wanted)))


def other_layout(self: Any, layout: Any, dtype: Any) -> Any:
    """Zeros of another sparse layout."""
    if layout is sparse_coo:
        return empty_coo(self.array.shape, dtype, self.array.ndim - data_of(self).dense_dim)
    blocksize = blocksize_of(self) if layout in IN_BLOCKS else None
    return to_compressed(new_tensor(np.zeros(self.array.shape, dtype)), layout, blocksize, data_of(self).dense_dim)


@compressed_kernel("rand_like", "randn_like", "randint_like", "randint_like.low_dtype")
def random_kernel(op: OpDef, self: Any, *rest: Any) -> Any:
    """Random values for the entries that are stored."""
    options = [None if option is layout_of(self) else option for option in rest]
    return with_entry_values(self, on_values(op, data_of(self).values, *options))


# ---- sums, products, shapes
@compressed_kernel("sum")
def sum_kernel(op: OpDef, self: Any, dtype: Any) -> Any:
    return on_values(op, data_of(self).values, dtype)


@compressed_kernel("sum.dim_IntList")
def sum_dim_kernel(op: OpDef, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if layout_of(self) is not sparse_csr:
        raise RuntimeError("Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout "
                           f"{layout_name(self)}")
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if len({families.wrap_dim(d, 2) for d in dim}) == 2:
        total = data_of(self).values.detach().sum(dtype=dtype)
        return new_compressed(sparse_csr, np.array([0, 1]), np.zeros(1, np.int64), total.array.reshape(1), (1, 1))
    return back(reductions.sum_dim_kernel(op, as_coo(self), dim, keepdim, dtype), self)


@compressed_kernel("mm")
def mm_kernel(op: OpDef, self: Any, mat2: Any) -> Any:
    check_product(None, self, mat2)
    check_product_dtypes(self, mat2)
    made = products.mm_kernel(op, matrix_of(self), matrix_of(mat2))
    if is_coo(made):
        return to_compressed(made, sparse_csr, None, None)
    return new_tensor(np.ascontiguousarray(made.array))


def check_product(into: Any, a: Any, b: Any) -> None:
    """Raise PyTorch's errors for unsupported products of layouts, and for shapes that do not match."""
    layouts = [layout_name(t) if is_sparse(t) else "Strided" for t in (a, b)]
    if all([is_sparse(t) for t in (a, b)]) and any([layout_of(t) in IN_BLOCKS for t in (a, b)]):
        blocks = next(layout_name(t) for t in (a, b) if layout_of(t) in IN_BLOCKS)
        raise RuntimeError(f"zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got {blocks}")
    sparse = [is_sparse(t) for t in (a, b)]
    unknown = any(sparse) and (all(sparse) and "Sparse" in layouts or "SparseBsc" in layouts or layouts[1] == "SparseBsr")
    if unknown or into is not None and is_sparse(into) and not all(sparse):
        target = layout_name(into) if into is not None and is_sparse(into) else layouts[0] if all(sparse) else "Strided"
        raise RuntimeError(f"addmm: computation on CPU is not implemented for {target} + {layouts[0]} @ {layouts[1]}")
    if a.array.ndim == 2 and b.array.ndim == 2 and a.array.shape[1] != b.array.shape[0]:
        (m, k), (l, n) = a.array.shape, b.array.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {l}x{n})")


def check_product_dtypes(a: Any, b: Any) -> None:
    """Refuse the dtypes for which there are no products of compressed matrices."""
    if 0 in b.array.shape:
        return
    if a.array.dtype.char not in "fdFD":
        raise unsupported("addmm_out_sparse_csr_impl_mkl" + ("_sparse" if is_sparse(a) and is_sparse(b) else ""), a.array.dtype)
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.legacy} but found {b.dtype.legacy}")


@compressed_kernel("addmm", "_sparse_addmm")
def addmm_kernel(op: OpDef, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    check_product(self, mat1, mat2)
    if not is_sparse(self):
        return products.addmm_kernel(op, self, matrix_of(mat1), matrix_of(mat2), beta, alpha)
    made = products.sparse_times_sparse(coalesced(matrix_of(mat1)), coalesced(matrix_of(mat2)))
    scaled = as_coo(self)
    data_of(scaled).values = new_tensor(data_of(scaled).values.array * self.array.dtype.type(beta))
    return back(pointwise.merged(coalesced(scaled), coalesced(made), alpha, common_dtype(self, mat1)), self)


@compressed_kernel("addmv")
def addmv_kernel(op: OpDef, self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    made = products.mv_kernel(op, matrix_of(mat), vec).array
    return new_tensor(made * made.dtype.type(alpha) + self.array * self.array.dtype.type(beta))


@compressed_kernel("triangular_solve")
def triangular_solve_kernel(op: OpDef, self: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    solution = compute(op, [self, new_tensor(dense_of(A)), upper, transpose, unitriangular])[0]
    return solution, new_tensor(np.zeros(0, self.array.dtype))


@compressed_kernel("mv")
def mv_kernel(op: OpDef, self: Any, vec: Any) -> Any:
    if self.array.ndim == 2 and vec.array.ndim == 1 and not is_sparse(vec):
        rows, columns = self.array.shape
        if columns != vec.array.shape[0]:
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({vec.array.shape[0]})")
        if self.dtype is not vec.dtype:
            raise RuntimeError("addmv input tensors must have the same dtype, but got "
                               f"{vec.dtype.legacy}, {self.dtype.legacy}, and {vec.dtype.legacy}")
        if self.array.dtype.char not in "fdFD":
            raise unsupported("addmv_out_sparse_csr_impl_mkl", self.array.dtype)
    return products.mv_kernel(op, matrix_of(self), vec)


@compressed_kernel("t", "transpose.int")
def transpose_kernel(op: OpDef, self: Any, dim0: int = 0, dim1: int = 1) -> Any:
    rank, data = self.array.ndim, data_of(self)
    if op.name == "t" and rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    a, b = sorted([families.wrap_dim(dim0, rank), families.wrap_dim(dim1, rank)])
    if a == b:
        return alias(self)
    kinds = [dim_kind(data, d) for d in (a, b)]
    if kinds[0] != kinds[1]:
        given = families.wrap_dim(dim0, rank), families.wrap_dim(dim1, rank)
        raise RuntimeError("transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
                           f"{given[0]}({dim_kind(data, given[0])}) and {given[1]}({dim_kind(data, given[1])})")
    shape = list(self.array.shape)
    shape[a], shape[b] = shape[b], shape[a]
    compressed, plain, values = data.compressed.array, data.plain.array, data.values.array
    if kinds[0] == "Batch":
        return new_compressed(data.layout, compressed.swapaxes(a, b), plain.swapaxes(a, b), values.swapaxes(a, b), tuple(shape))
    if kinds[0] == "Dense":
        shift = 1 if data.layout in IN_BLOCKS else -1
        return new_compressed(data.layout, compressed, plain, values.swapaxes(a + shift, b + shift), tuple(shape))
    if data.layout in IN_BLOCKS:
        values = values.swapaxes(data.batch + 1, data.batch + 2)
    return new_compressed(FLIPPED[data.layout], compressed, plain, values, tuple(shape))


def dim_kind(data: Any, dim: int) -> str:
    """The kind of a dimension of a tensor in a compressed layout: batch, row, column or dense."""
    return "Batch" if dim < data.batch else "Sparse" if dim < data.batch + 2 else "Dense"


@compressed_kernel("select.int")
def select_kernel(op: OpDef, self: Any, dim: int, index: int) -> Any:
    data, d = data_of(self), families.wrap_dim(dim, self.array.ndim)
    kind, length = dim_kind(data, d), self.array.shape[d]
    if not -length <= index < length:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(self.array.shape)} at dimension {d}")
    shape = (*self.array.shape[:d], *self.array.shape[d + 1:])
    if kind == "Batch":
        place = (*(slice(None),) * d, index)
        parts = [part.array[place] for part in (data.compressed, data.plain, data.values)]
        return new_compressed(data.layout, parts[0], parts[1], parts[2], shape)
    if kind == "Dense":
        at = d + (1 if data.layout in IN_BLOCKS else -1)
        return with_shape(data, data.values.array[(*(slice(None),) * at, index)], shape)
    if data.batch:
        raise RuntimeError("select(): selecting sparse dimensions is not supported for batched sparse compressed tensors.")
    made = shapes.select_kernel(op, coalesced(as_coo(self)), dim, index)
    if is_coo(made):
        data_of(made).coalesced = True
    return made


def with_shape(data: Any, values: Any, shape: Any) -> Any:
    return new_compressed(data.layout, data.compressed.array, data.plain.array, values, shape)


@compressed_kernel("unbind.int")
def unbind_kernel(op: OpDef, self: Any, dim: int) -> Any:
    return [select_kernel(op, self, dim, i) for i in range(self.array.shape[dim])]
