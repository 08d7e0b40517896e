"""Ops on tensors in compressed layouts: constructors, conversions, and the kernels that PyTorch has for them."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import defop
from retrograd.core.saved import alias
from retrograd.core.tensor import Tensor, new_tensor, wants_grad
from retrograd.ops import late
from retrograd.ops.memory.copy import cast_array, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from retrograd.ops.shared import families
from retrograd.ops.sparse import pointwise, products, reductions
from retrograd.ops.sparse import shape as shapes
from retrograd.ops.sparse.compressed import (
    BY_ROW,
    IN_BLOCKS,
    Compressed,
    as_coo,
    dense_of,
    is_compressed,
    masked,
    matrix_of,
    new_compressed,
    to_compressed,
    with_entry_values,
)
from retrograd.ops.sparse.construct import given_tensor
from retrograd.ops.sparse.convert import blocksize_of, sparse_gradient
from retrograd.ops.sparse.coo import coalesced, common_dtype, data_of, is_coo, is_sparse, layout_name, layout_of, sparse_tensor
from retrograd.ops.sparse.invariants import checking
from retrograd.ops.sparse.table import compressed_kernel, on_values, sparse_kernel, unbatched

FLIPPED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


# ---- conversions
def declare(layout: Any, blocks: bool) -> None:
    """to_sparse_csr and its kin: the recorded op and the method that calls it."""
    short = layout.name.removeprefix("sparse_")
    size = "SymInt[2] blocksize, " if blocks else ""
    op = defop(f"_to_sparse_{short}(Tensor self, {size}int? dense_dim=None) -> Tensor", kernel=None,
               vjp=dict(self=sparse_gradient), batch=unbatched, variants="", out=False)

    def kernel(op: Any, self: Any, *rest: Any) -> Any:
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
def to_dense_kernel(op: Any, self: Any, dtype: Any, masked_grad: Any) -> Any:
    made = dense_of(self)
    return new_tensor(made if dtype is None else cast_array(made, dtype.numpy))


@compressed_kernel("_to_sparse")
def to_sparse_kernel(op: Any, self: Any, layout: Any, blocksize: Any, dense_dim: Any) -> Any:
    if layout is not None and layout is not sparse_coo:
        return to_compressed(self, layout, blocksize, dense_dim)
    return as_coo(self)


@compressed_kernel("_to_sparse.sparse_dim")
def to_sparse_dim_kernel(op: Any, self: Any, sparse_dim: int) -> Any:
    if sparse_dim != 2:
        raise RuntimeError(f"sparse_compressed_to_sparse: conversion from {layout_name(self)} to Sparse with sparse_dim "
                           "argument !=2 is not supported")
    return as_coo(self)


@compressed_kernel("sparse_mask")
def sparse_mask_kernel(op: Any, self: Any, mask: Any) -> Any:
    if not is_compressed(mask):
        raise RuntimeError(f"sparse_mask: expected a mask of a compressed layout but got {layout_name(mask)}")
    if self.array.shape != mask.array.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.array.shape)} but mask "
                           f"has size {list(mask.array.shape)}")
    return masked(self, mask)


# ---- parts
@compressed_kernel("values")
def values_kernel(op: Any, self: Any) -> Any:
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


# ---- constructors
def constructor_gradient(grad: Any, result: Any) -> Any:
    if is_sparse(grad) and layout_of(grad) is layout_of(result):
        return grad.values()
    return late.sparse_mask(grad, result).values()


from_parts = defop(
    "_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    kernel=None, vjp=dict(values=constructor_gradient), batch=unbatched, node="SparseCompressedTensorBackward0",
    variants="",
    out=False,
)


@sparse_kernel("_sparse_compressed_tensor_unsafe")
def from_parts_kernel(op: Any, compressed_indices: Any, plain_indices: Any, values: Any, size: Any, dtype: Any, layout: Any,
                      device: Any, pin_memory: Any) -> Any:
    return sparse_tensor(Compressed(layout, alias(compressed_indices), alias(plain_indices), alias(values)), size)


def like_parts(self: Any, values: Any) -> Any:
    """A tensor of other values with the entries of `self`; recorded."""
    data = data_of(self)
    return call(from_parts, [alias(data.compressed), alias(data.plain), values, tuple(self.array.shape), values.dtype,
                             data.layout,
                             None, None])


hooks.compressed_like = like_parts


def build(layout: Any, compressed: Any, plain: Any, values: Any, size: Any, dtype: Any, requires_grad: bool,
          check: Any) -> Any:
    compressed, plain = given_tensor(compressed, None), given_tensor(plain, None)
    values = given_tensor(values, dtype)
    height, width = values.array.shape[1:3] if layout in IN_BLOCKS else (1, 1)
    if size is None:
        major = compressed.array.shape[-1] - 1
        minor = int(plain.array.max()) + 1 if plain.array.size else 0
        rows, columns = (major, minor) if layout in BY_ROW else (minor, major)
        size = (rows * height, columns * width, *values.array.shape[3 if layout in IN_BLOCKS else 1:])
    if checking.enabled if check is None else check:
        check_parts(layout, compressed.array, plain.array, values.array, size, (height, width))
    made = call(from_parts, [compressed, plain, values, tuple(size), values.dtype, layout, None, None])
    if requires_grad and not wants_grad(made):
        made.requires_grad_()
    return made


def check_parts(layout: Any, compressed: Any, plain: Any, values: Any, size: Any, block: Any) -> None:
    """What `check_invariants` asks for."""
    by_row = layout in BY_ROW
    first, second = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
    major, minor = (0, 1) if by_row else (1, 0)
    count = size[major] // block[major]
    many, few = ("nrows", "ncols") if by_row else ("ncols", "nrows")
    if compressed.shape[-1] != count + 1:
        raise RuntimeError(f"{first}.shape[-1] must be equal to the number of {'rows' if by_row else 'columns'} + 1 "
                           f"(that is {count + 1}), but got {compressed.shape[-1]}")
    if compressed[0] != 0:
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if compressed[-1] != plain.shape[-1]:
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    steps = np.diff(compressed)
    limit = size[minor] // block[minor]
    if (steps < 0).any() or (steps > limit).any():
        raise RuntimeError(f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {few}` is not satisfied.")
    if plain.size and not (plain.min() >= 0 and plain.max() < limit):
        raise RuntimeError(f"`0 <= {second} < {few}` is not satisfied.")
    if values.shape[0] != plain.shape[-1]:
        raise RuntimeError(f"number of values ({values.shape[0]}) does not match the number of {second} ({plain.shape[-1]}) "
                           f"of a tensor with {count} {many}")


def make_constructor(name: str, layout: Any) -> None:
    def construct(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                  device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                  check_invariants: Any = None) -> Any:
        return build(layout, compressed_indices, plain_indices, values, size, dtype, requires_grad, check_invariants)
    construct.__name__ = name
    construct.__doc__ = f"A tensor in the layout {layout}, of its index arrays and values."
    expose(construct, name=name, method=False)


for kind in (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc):
    make_constructor(kind.name + "_tensor", kind)


@expose(method=False)
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                             layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                             check_invariants: Any = None) -> Any:
    """A tensor in any of the compressed layouts."""
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor_unsafe expected sparse compressed tensor layout but got Strided")
    return build(layout, compressed_indices, plain_indices, values, size, dtype, requires_grad, check_invariants)


# ---- elementwise
@compressed_kernel(*[n for n in pointwise.ZERO_PRESERVING if n != "pow.Tensor_Scalar"], "neg", "conj_physical",
                   "_conj_physical", "positive")
def on_entry_values(op: Any, self: Any, *rest: Any) -> Any:
    return with_entry_values(self, on_values(op, data_of(self).values, *rest))


def back(made: Any, like: Any) -> Any:
    """A COO result in the layout of an operand."""
    made = coalesced(made)
    return to_compressed(made, layout_of(like), blocksize_of(like), None)


@compressed_kernel("mul.Tensor", "mul.Scalar")
def mul_kernel(op: Any, self: Any, other: Any) -> Any:
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
def mul_in_place(op: Any, self: Any, other: Any) -> Any:
    return assigned(self, mul_kernel(op.functional, self, other))


@compressed_kernel("add.Tensor")
def add_kernel(op: Any, self: Any, other: Any, alpha: Any) -> Any:
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
def add_in_place(op: Any, self: Any, other: Any, alpha: Any) -> Any:
    if not is_sparse(self):
        return pointwise.add_in_place(op, self, matrix_of(other), alpha)
    made = add_kernel(op.functional, self, other, alpha)
    return assigned(self, made)


def assigned(self: Any, made: Any) -> Any:
    """Give `self` the data of `made`."""
    pointwise.check_cast(made.array.dtype, self)
    data = data_of(made)
    self._extra.sparse = Compressed(data.layout, data.compressed, data.plain,
                                    new_tensor(cast_array(data.values.array, self.array.dtype)))
    return self


@compressed_kernel("zero_")
def zero_in_place(op: Any, self: Any) -> Any:
    return assigned(self, emptied(self, self.array.dtype))


def emptied(self: Any, dtype: Any) -> Any:
    data = data_of(self)
    return new_compressed(data.layout, lean.zeros_like(data.compressed.array), np.zeros(0, data.plain.array.dtype),
                          np.zeros((0, *data.values.array.shape[1:]), dtype), self.array.shape)


@compressed_kernel("fill_.Scalar")
def fill_in_place(op: Any, self: Any, value: Any) -> Any:
    values = data_of(self).values.array
    return assigned(self, with_entry_values(self, new_tensor(lean.full(values.shape, value, values.dtype))))


# ---- copies
@compressed_kernel("clone")
def clone_kernel(op: Any, self: Any, memory_format: Any) -> Any:
    return copied(self, None)


def copied(self: Any, dtype: Any) -> Any:
    data = data_of(self)
    values = data.values.array
    values = values.copy() if dtype is None or values.dtype == dtype else cast_array(values, dtype)
    return new_compressed(data.layout, data.compressed.array.copy(), data.plain.array.copy(), values, self.array.shape)


@compressed_kernel("_to_copy")
def to_copy_kernel(op: Any, self: Any, dtype: Any, *rest: Any) -> Any:
    return copied(self, None if dtype is None else dtype.numpy)


@compressed_kernel("copy_")
def copy_kernel(op: Any, self: Any, src: Any, non_blocking: bool) -> Any:
    if layout_of(self) is not layout_of(src):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self layout = "
                           f"{layout_name(self)} and src layout = {layout_name(src)}")
    return assigned(self, copied(src, None))


@compressed_kernel("zeros_like", "empty_like", "ones_like")
def like_kernel(op: Any, self: Any, dtype: Any, layout: Any, *rest: Any) -> Any:
    wanted = dtype.numpy if dtype is not None else self.array.dtype
    if layout is strided:
        return new_tensor(lean.full(self.array.shape, op.name == "ones_like", wanted))
    if op.name == "zeros_like":
        return emptied(self, wanted)
    return with_entry_values(self, new_tensor(lean.full(data_of(self).values.array.shape, op.name == "ones_like", wanted)))


# ---- sums, products, shapes
@compressed_kernel("sum")
def sum_kernel(op: Any, self: Any, dtype: Any) -> Any:
    return on_values(op, data_of(self).values, dtype)


@compressed_kernel("sum.dim_IntList")
def sum_dim_kernel(op: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    return back(reductions.sum_dim_kernel(op, as_coo(self), dim, keepdim, dtype), self)


@compressed_kernel("mm")
def mm_kernel(op: Any, self: Any, mat2: Any) -> Any:
    made = products.mm_kernel(op, matrix_of(self), matrix_of(mat2))
    if is_coo(made):
        return to_compressed(made, layout_of(self if is_compressed(self) else mat2), None, None)
    return new_tensor(np.ascontiguousarray(made.array))


@compressed_kernel("addmm", "_sparse_addmm")
def addmm_kernel(op: Any, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    return products.addmm_kernel(op, self, matrix_of(mat1), matrix_of(mat2), beta, alpha)


@compressed_kernel("mv")
def mv_kernel(op: Any, self: Any, vec: Any) -> Any:
    return products.mv_kernel(op, matrix_of(self), vec)


@compressed_kernel("t", "transpose.int")
def transpose_kernel(op: Any, self: Any, dim0: int = 0, dim1: int = 1) -> Any:
    if families.wrap_dim(dim0, self.array.ndim) == families.wrap_dim(dim1, self.array.ndim):
        return alias(self)
    data = data_of(self)
    values = data.values.array
    if data.layout in IN_BLOCKS:
        values = values.swapaxes(1, 2)
    return new_compressed(FLIPPED[data.layout], data.compressed.array, data.plain.array, values,
                          (self.array.shape[1], self.array.shape[0], *self.array.shape[2:]))


@compressed_kernel("select.int")
def select_kernel(op: Any, self: Any, dim: int, index: int) -> Any:
    made = shapes.select_kernel(op, coalesced(as_coo(self)), dim, index)
    if is_coo(made):
        data_of(made).coalesced = True
    return made


