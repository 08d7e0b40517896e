"""Constructors of sparse COO tensors from indices and values, and their checks."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import device as devices
from retrograd.core import dtypes
from retrograd.core.api import expose
from retrograd.core.dispatch import call, compute
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, defop
from retrograd.core.saved import alias
from retrograd.core.tensor import Tensor, new_tensor, wants_grad
from retrograd.ops import late
from retrograd.ops.memory.copy import sparse_coo, strided
from retrograd.ops.sparse.coo import (
    Coo,
    data_of,
    dense_dim_of,
    empty_coo,
    is_coo,
    is_sparse,
    keys_of,
    layout_name,
    layout_of,
    row_count,
    rows_at,
    sparse_dim_of,
    sparse_tensor,
    values_of,
)
from retrograd.ops.sparse.invariants import checking
from retrograd.ops.sparse.outlines import outline
from retrograd.ops.sparse.table import compressed_kernel, missing, sparse_kernel, unbatched

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


# ---- the op that is recorded
def values_gradient(grad: Any, result: Any) -> Any:
    return call(values_at, [grad, late._indices(result)])


with_parts = defop(
    "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, Tensor values, *, "
    + OPTIONS + ", bool? is_coalesced=None) -> Tensor",
    kernel=None, vjp=dict(values=values_gradient), batch=unbatched, variants="", out=False,
)


@sparse_kernel("_sparse_coo_tensor_with_dims_and_tensors")
def with_parts_kernel(op: OpDef, sparse_dim: int, dense_dim: int, size: Any, indices: Any, values: Any, dtype: Any, layout: Any,
                      device: Any, pin_memory: Any, is_coalesced: Any) -> Any:
    for name, part in (("indices", indices), ("values", values)):
        if is_sparse(part):
            raise RuntimeError(f"expected {name} to be a dense tensor, but got {name} of layout {layout_name(part)}")
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
                           f"{sparse_dim}, dense_dim = {dense_dim}")
    count = indices.array.shape[1]
    if count != values.array.shape[0]:
        raise RuntimeError("indices and values must have same nnz, but got nnz from indices: "
                           f"{count}, nnz from values: {values.array.shape[0]}")
    wanted = (count, *size[sparse_dim:])
    if values.array.shape != wanted:
        raise RuntimeError(f"values has incorrect size, expected {list(wanted)}, got {list(values.array.shape)}")
    data = Coo(alias(indices), alias(values), bool(is_coalesced) or count < 2)
    return sparse_tensor(data, size)


# The values of a tensor at given positions, for the constructor's derivative.
values_at = defop(
    "_sparse_values_at(Tensor self, Tensor indices) -> Tensor",
    kernel=None,
    vjp=dict(self=lambda grad, self_sym_sizes, indices: coo_unsafe(indices, grad, self_sym_sizes)),
    batch=unbatched, variants="", out=False,
)


@sparse_kernel("_sparse_values_at")
def values_at_kernel(op: OpDef, self: Any, indices: Any) -> Any:
    if is_coo(self) and sparse_dim_of(self) == indices.array.shape[0]:
        return new_tensor(rows_at(self, indices.array)[0])
    whole = late.to_dense(self.detach()) if is_sparse(self) else self
    split = indices.array.shape[0]
    rows = whole.array.reshape(row_count(whole.array.shape[:split]), *whole.array.shape[split:])
    return new_tensor(rows[keys_of(indices.array, whole.array.shape)])


compressed_kernel("_sparse_values_at")(values_at_kernel)


# ---- functions that call it
def coo_unsafe(indices: Any, values: Any, size: Any, is_coalesced: Any = None) -> Any:
    """A COO tensor from unchecked parts."""
    if values.array.ndim == 0:
        values = late.expand(values, (1,))
    sparse_dim = indices.array.shape[0]
    return call(with_parts, [sparse_dim, values.array.ndim - 1, tuple(size), indices, values, values.dtype, None, None, None,
                             is_coalesced])


def given_tensor(value: Any, dtype: Any) -> Any:
    """A user's argument as a tensor of the given dtype."""
    if isinstance(value, Tensor):
        return value if dtype is None or value.dtype is dtype else late.to(value, dtype)
    return late.tensor(value, dtype=dtype)


def inferred_size(indices: Any, values: Any) -> tuple[int, ...]:
    """The smallest size that holds all entries."""
    array = indices.array
    if not array.shape[1]:
        return (*[0] * array.shape[0], *values.array.shape[1:])
    check_negative(array)
    return (*[int(n) + 1 for n in array.max(1)], *values.array.shape[1:])


def check_negative(array: Any) -> None:
    for d, low in enumerate(array.min(1)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")


def check_invariants_of(indices: Any, size: Any, is_coalesced: Any) -> None:
    """The checks of `check_invariants`: indices within the size, and sorted columns if the tensor is marked as coalesced."""
    array = indices.array
    if not array.shape[1]:
        return
    check_negative(array)
    for d, high in enumerate(array.max(1)):
        if high >= size[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high}")
    if is_coalesced:
        keys = keys_of(array, size)
        if (keys[1:] <= keys[:-1]).any():
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def is_size(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all([type(n) is int for n in value])


SIGNATURES = (
    "but expected one of:\n"
    " * (object indices, object values, *, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, bool "
    "requires_grad = False, bool check_invariants = None, bool is_coalesced = None)\n"
    " * (object indices, object values, tuple of ints size, *, torch.dtype dtype = None, torch.device device = None, bool "
    "pin_memory = False, bool requires_grad = False, bool check_invariants = None, bool is_coalesced = None)\n"
    " * (tuple of ints size, *, torch.dtype dtype = None, torch.device device = None, bool requires_grad = False, bool "
    "check_invariants = None)\n")
KEYWORDS = ("dtype", "device", "pin_memory", "requires_grad", "check_invariants", "is_coalesced")


@expose(method=False)
def sparse_coo_tensor(*args: Any, **kwargs: Any) -> Any:
    """A sparse tensor with `values` at the columns of `indices`.

    >>> import retrograd as torch
    >>> torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,)).to_dense()
    tensor([1., 0., 2.])
    """
    names = ("indices", "values", "size")
    options = {k: v for k, v in kwargs.items() if k in KEYWORDS}
    given = dict(zip(names, args, strict=False))
    if len(args) == 1 and "values" not in kwargs and is_size(args[0]):
        given = {"size": args[0]}
    given.update({k: v for k, v in kwargs.items() if k in names})
    fits = set(given) in ({"indices", "values"}, set(names), {"size"}) and ("size" not in given or is_size(given["size"]))
    if len(args) > 3 or not fits or set(kwargs) - set(KEYWORDS) - set(names):
        kinds = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
        raise TypeError(f"sparse_coo_tensor() received an invalid combination of arguments - got ({', '.join(kinds)}), "
                        + SIGNATURES)
    dtype, requires_grad = options.get("dtype"), options.get("requires_grad", False)
    if any([n < 0 for n in given.get("size") or ()]):
        raise RuntimeError(f"numel: integer multiplication overflow\nThe size may not be negative: {list(given['size'])}.")
    if "indices" not in given:
        made = empty_coo(tuple(given["size"]), (dtype or dtypes.get_default_dtype()).numpy)
    else:
        made = from_parts(given["indices"], given["values"], given.get("size"), dtype, options)
    if devices.parse_device(options.get("device")).type == "meta" and not made.is_meta:
        made = outline(made.detach())
    if requires_grad and not wants_grad(made):
        made.requires_grad_()
    return made


def from_parts(indices: Any, values: Any, size: Any, dtype: Any, options: Any) -> Any:
    indices, values = given_tensor(indices, None), given_tensor(values, dtype)
    for name, part in (("indices", indices), ("values", values)):
        if is_sparse(part):
            raise RuntimeError(f"expected {name} to be a dense tensor, but got {name} of layout {layout_name(part)}")
    indices = given_tensor(indices, dtypes.int64)
    if values.array.ndim == 0:
        values = late.expand(values, (1,))
    if indices.array.ndim != 2:
        raise RuntimeError("indices must be sparse_dim x nnz, but got: " + str(list(indices.array.shape)))
    if size is None:
        size = inferred_size(indices, values)
    is_coalesced, check = options.get("is_coalesced"), options.get("check_invariants")
    if (checking.enabled if check is None else check) and not indices.is_meta:
        check_invariants_of(indices, size, is_coalesced)
    return coo_unsafe(indices, values, tuple(size), is_coalesced)


@expose(method=False)
def _sparse_coo_tensor_unsafe(indices: Any, values: Any, size: Any, *, dtype: Any = None, layout: Any = None,
                              device: Any = None,
                              pin_memory: Any = None, is_coalesced: Any = None, requires_grad: bool = False,
                              check_invariants: Any = None) -> Any:
    """`sparse_coo_tensor` for parts that need no checking."""
    return coo_unsafe(indices, values if dtype is None else given_tensor(values, dtype), tuple(size), is_coalesced)


@expose(plain=False)
def _coalesced_(self: Any, coalesced: bool) -> Any:
    """Mark the entries as coalesced or not."""
    if not is_coo(self):
        raise missing_simple("_coalesced_", self)
    data_of(self).coalesced = bool(coalesced)
    return self


def missing_simple(name: str, t: Any) -> Exception:
    """The error for a method that only sparse tensors support."""
    class Named:
        overload = "default"

    Named.name = name                              # type: ignore[attr-defined]
    return missing(Named, [t], "SparseCPU" if is_coo(t) else "SparseCsrCPU" if is_sparse(t) else "CPU")


hooks.missing_method = missing_simple


# ---- factories with layout=, and tensors like a sparse one
def like(self: Any, dtype: Any, layout: Any) -> Any:
    if layout is not None and layout is strided:
        return new_tensor(np.zeros(self.array.shape, dtype.numpy if dtype is not None else self.array.dtype))
    if layout is not None and layout is not sparse_coo:
        whole = np.zeros(self.array.shape, dtype.numpy if dtype is not None else self.array.dtype)
        return hooks.to_compressed(new_tensor(whole), layout, None, None)
    sparse_dim = sparse_dim_of(self) if is_coo(self) else self.array.ndim
    return empty_coo(self.array.shape, dtype.numpy if dtype is not None else self.array.dtype, sparse_dim)


@sparse_kernel("zeros_like", "empty_like")
def zeros_like_kernel(op: OpDef, self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
    if memory_format is not None and memory_format.name != "preserve_format":
        raise RuntimeError("memory format option is only supported by strided tensors")
    return like(self, dtype, layout)


@sparse_kernel("zeros", "empty.memory_format")
def zeros_kernel(op: OpDef, size: Any, dtype: Any, layout: Any, device: Any, *rest: Any) -> Any:
    wanted = (dtype or dtypes.get_default_dtype()).numpy
    if layout is not sparse_coo:
        if layout.name in ("sparse_bsr", "sparse_bsc"):
            raise RuntimeError(f"{op.name}_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
                               f"{layout_name(layout)}")
        return hooks.to_compressed(new_tensor(np.zeros(tuple(size), wanted)), layout, None, None)
    return empty_coo(tuple(size), wanted)


@sparse_kernel("new_zeros", "new_empty")
def new_zeros_kernel(op: OpDef, self: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    wanted = dtype.numpy if dtype is not None else self.array.dtype
    if layout is strided:
        return new_tensor(np.zeros(tuple(size), wanted))
    return empty_coo(tuple(size), wanted)


@sparse_kernel("ones_like", "full_like", "new_ones", "new_full")
def no_filling(op: OpDef, self: Any, *rest: Any) -> Any:
    class Fill:
        name, overload = "fill_", "Scalar"

    if rest and any([r is strided for r in rest]):
        plain = new_tensor(np.zeros(self.array.shape, self.array.dtype))
        return compute(op, [plain, *rest])
    raise missing(Fill, [self], "SparseCPU")


@expose(schema="resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)")
def resize_as_sparse_(self: Any, the_template: Any) -> Any:
    """Give a sparse tensor the size and the number of entries of another one."""
    if layout_of(self) is not layout_of(the_template):
        raise RuntimeError(f"resize_as_sparse_: layouts must match, got {layout_name(self)} and {layout_name(the_template)}")
    if self.array.shape != the_template.array.shape:
        if is_coo(self):
            return sparse_resize_(self, tuple(the_template.array.shape), sparse_dim_of(the_template),
                                  dense_dim_of(the_template))
        made = late.zeros_like(the_template.detach())
        self._extra.sparse, self.array = made._extra.sparse, made.array
    return self


@expose(plain=False, schema="sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)")
def sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Change the size of a sparse tensor, keeping its entries."""
    return resized(self, tuple(size), sparse_dim, dense_dim, False)


@expose(plain=False,
        schema="sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)")
def sparse_resize_and_clear_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Change the size of a sparse tensor and drop its entries."""
    return resized(self, tuple(size), sparse_dim, dense_dim, True)


def resized(self: Any, size: Any, sparse_dim: int, dense_dim: int, clear: bool) -> Any:
    if not is_coo(self):
        raise missing_simple("sparse_resize_and_clear_" if clear else "sparse_resize_", self)
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
                           f"{sparse_dim}, dense_dim = {dense_dim}")
    call(resize_op, [self, size, sparse_dim, dense_dim, clear])
    return self


REMEDY = "\nsparse_resize_and_clear_() drops the entries; sparse_coo_tensor() makes an empty tensor of any size."

resize_op = defop(
    "_sparse_resize_(Tensor(a!) self, SymInt[] size, int sparse_dim, int dense_dim, bool clear) -> Tensor(a!)",
    kernel=None, batch=unbatched, variants="", out=False,
)


@sparse_kernel("_sparse_resize_")
def resize_kernel(op: OpDef, self: Any, size: Any, sparse_dim: int, dense_dim: int, clear: bool) -> Any:
    old, values = self.array.shape, values_of(self)
    if clear or not values.shape[0]:
        made = empty_coo(size, self.array.dtype, sparse_dim)
    else:
        split = sparse_dim_of(self)
        if sparse_dim != split:
            raise RuntimeError(f"changing the number of sparse dimensions (from {split} to {sparse_dim}) on a non-empty sparse "
                               f"tensor is not supported.{REMEDY}")
        if dense_dim != dense_dim_of(self):
            raise RuntimeError(f"changing the number of dense dimensions (from {dense_dim_of(self)} to {dense_dim}) on a "
                               f"non-empty sparse tensor is not supported.{REMEDY}")
        for kind, first, last in (("sparse", 0, split), ("dense", split, len(size))):
            if any([new < have for new, have in zip(size[first:last], old[first:last], strict=True)]):
                raise RuntimeError(f"shrinking the size of {kind} dimensions (from {list(old[first:last])} to "
                                   f"{list(size[first:last])}) on a non-empty sparse tensor is not supported.{REMEDY}")
        grown = np.zeros((values.shape[0], *size[split:]), values.dtype)
        grown[tuple([slice(n) for n in values.shape])] = values
        made = sparse_tensor(Coo(data_of(self).indices, new_tensor(grown), data_of(self).coalesced), size)
    self._extra.sparse, self.array = made._extra.sparse, made.array
    return self


