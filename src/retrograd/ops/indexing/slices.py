"""Whole slices along one dimension by their indices: index_select, index_add, index_copy, index_fill, index_reduce."""
from __future__ import annotations

from typing import Any

from retrograd.core import copying, lean
from retrograd.core.kernels import is_shared
from retrograd.core.opdef import OpDef, defop
from retrograd.ops import late
from retrograd.ops.indexing.index import INDEX_DTYPES, INT64, add_at
from retrograd.ops.indexing.scatter import (
    Along,
    along_vector,
    at_least_1d,
    batch_all,
    check_within,
    copy_of,
    legacy,
    reduce_at,
    reduction_backward,
    reduction_tangent,
    warn_once,
)
from retrograd.ops.shared.along import put_rows, take_rows
from retrograd.ops.shared.elementwise import times, unsupported
from retrograd.ops.shared.families import fill_zeros, wrap_dim
from retrograd.ops.shared.numbers import number_array


# ---- index_select
def check_rows(index: Any, size: int) -> None:
    if not lean.within(index, 0, size):
        raise IndexError("index out of range in self")


def check_selected(index: Any, shape: Any, dim: int) -> None:
    """Check positions along a dimension; the kernels for dimensions other than the first and for empty tensors have other
    texts."""
    size = shape[dim]
    if not lean.within(index, 0, size):
        if not size and len(shape) > 1:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        if dim or (len(shape) > 1 and 0 in shape):
            wrong = index[(index < 0) | (index >= size)].flat[0]
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}")
        raise IndexError("index out of range in self")


def index_select_kernel(xp: Any, self: Any, dim: int, index: Any) -> Any:
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if self.ndim == 0 and index.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    source = at_least_1d(self)
    check_selected(index, source.shape, dim)
    taken = take_rows(source, at_least_1d(index), dim)
    return taken.reshape(()) if self.ndim == 0 else xp.ascontiguousarray(taken)


def index_select_backward(grad: Any, self_sym_sizes: Any, dim: int, index: Any) -> Any:
    return fill_zeros(grad, self_sym_sizes, 0, "index_add", dim, index, grad)


def batched_index_select(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule: `gather`, as in PyTorch, which takes an index for each example."""
    self, dim, index = args
    rank = self.ndim - (dims[0] is not None)
    if index.ndim - (dims[2] is not None) != 1:
        return along_vector(op, args, dims, size)
    dim = wrap_dim(dim, max(rank, 1)) + 1
    self, _, index = batch_all(args, dims, size)
    if not rank:
        made = late.gather(self.unsqueeze(1), 1, index)
        return made.squeeze((1,)), 0
    shape = [1] * self.ndim
    shape[0], shape[dim] = index.shape
    wanted = list(self.shape)
    wanted[dim] = shape[dim]
    return late.gather(self, dim, index.reshape(shape).expand(wanted)), 0


batched_index_select.complete = True    # type: ignore[attr-defined]


index_select = defop(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    out="same: index_select(): self and result must have the same scalar type",
    kernel=index_select_kernel, lower="@index_select",
    vjp=dict(self=index_select_backward), jvp="linear", batch=batched_index_select,
    traits=("out_apart", "out_first", "out_after_dim", "chalf"),
    pattern="moves", masked="passthrough",
    doc="""The slices at the given indices of `dim`.
    >>> torch.index_select(torch.tensor([10, 20, 30]), 0, torch.tensor([2, 0]))
    tensor([30, 10])
    """,
)


# ---- index_add, index_copy, index_fill, index_reduce
def check_index_add(name: str, self: Any, dim: int, index: Any, source: Any) -> None:
    if index.ndim > 1:
        raise IndexError(f"{name}_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
                         f"{legacy(index)} and size: {list(index.shape)}")
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"{name}_(): Expected dtype int32/int64 for index but got: {legacy(index)}")
    if self.dtype != source.dtype:
        raise RuntimeError(f"{name}_(): self ({legacy(self)}) and source ({legacy(source)}) must have the same scalar "
                           "type")
    if not (dim == 0 or dim < source.ndim):
        raise RuntimeError(f"{name}_(): Indexing dim {dim} is out of bounds of the source tensor with dim "
                           f"{source.ndim}")
    count = 1 if source.ndim == 0 else source.shape[dim]
    both = self.ndim and source.ndim
    mine = [n for d, n in enumerate(self.shape) if d != dim or not both]
    theirs = [n for d, n in enumerate(source.shape) if d != dim or not both]
    if index.size != count:
        if not source.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        raise RuntimeError(f"{name}_(): Number of indices ({index.size}) should be equal to source.size(dim): "
                           f"({count}), for dim: {dim}")
    if mine != theirs:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {list(self.shape)} source.shape = {list(source.shape)}")


def rows(dim: int, index: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * dim, at_least_1d(index))


def index_add_kernel(xp: Any, self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    dim = wrap_dim(dim, self.ndim)
    check_index_add("index_add", self, dim, index, source)
    if self.ndim < 2:
        check_rows(index, self.size)
    else:
        check_within(index, dim, self.shape[dim])
    if alpha != 1:
        source = source * number_array(alpha, self.dtype)
    result = copying.copy_of(self)
    if put_rows(at_least_1d(result), at_least_1d(index), at_least_1d(source), dim, "+"):
        return result
    add_at(at_least_1d(result), rows(dim, index), at_least_1d(source))
    return result


def read_rows(grad: Any, dim: int, index: Any, source: Any, source_dim: int) -> Any:
    """The gradient of the source rows."""
    if source_dim:
        return grad.index_select(dim, index).expand_as(source)
    return grad.index_select(dim, index.squeeze(0) if index.ndim else index)


def index_add_source(grad: Any, dim: int, index: Any, source: Any, source_dim: int, alpha: Any) -> Any:
    picked = read_rows(grad, dim, index, source, source_dim)
    return picked if alpha == 1 else times(picked, alpha)


index_add = defop(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    kernel=index_add_kernel, lower="@index_add",
    vjp=dict(self=lambda grad: grad, source=index_add_source),
    jvp="linear", batch=along_vector, inplace=True, traits=("apart", "chalf"), pattern=("scatter", 3, "index_select", (1, 2)),
    doc="""A tensor with others added at the given indices of `dim`.
    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))
    tensor([3., 0., 0.])
    """,
)


def index_copy_kernel(xp: Any, self: Any, dim: int, index: Any, source: Any) -> Any:
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if source.ndim != self.ndim and source.ndim and self.ndim:
        raise IndexError("index_copy_(): When source and destination are not scalars, their dimensionality must match. "
                         f"Source dimensionality ({source.ndim}), destination dimensionality ({self.ndim})")
    if index.dtype != INT64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {legacy(index)}")
    if self.dtype != source.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{legacy(self)} and (source) {legacy(source)}")
    mine = [n for d, n in enumerate(self.shape) if d != dim]
    theirs = [n for d, n in enumerate(source.shape) if d != dim]
    if mine != theirs:
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
                           f"shape: {' '.join(map(str, mine))} at dimension {dim} and source slice shape: "
                           f"{' '.join(map(str, theirs))} at dimension 0.")
    count = 1 if source.ndim == 0 else source.shape[dim]
    if source.ndim and index.size != count:
        raise IndexError(f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
                         f"({count})")
    size = at_least_1d(self).shape[dim]
    if not lean.within(index, 0, size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise IndexError(f"index_copy_(): index {wrong} is out of bounds for dimension {dim} with size {size}")
    result = copying.copy_of(self)
    if put_rows(at_least_1d(result), at_least_1d(index), at_least_1d(source), dim, "="):
        return result
    at_least_1d(result)[rows(dim, index)] = at_least_1d(source)
    return result


index_copy = defop(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    kernel=index_copy_kernel, lower="@index_copy",
    vjp=dict(self=lambda grad, dim, index: grad.index_fill(dim, index, 0), source=read_rows),
    jvp="linear", batch=along_vector, inplace=True, autocast="widest", pattern="moves",
    traits=("apart", "apart_first", "out_first", "out_after_dim", "chalf"),
)


def index_fill_with(self: Any, dim: int, index: Any, value: Any, in_place: bool = False) -> Any:
    if index.dtype != INT64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    size = at_least_1d(self).shape[dim]
    if self.size and not lean.within(index, -size, size):
        wrong = index[(index < -size) | (index >= size)].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")
    if not self.size:
        return self.copy()
    result = self if in_place and is_shared(self) else copy_of(self)
    at_least_1d(result)[rows(dim, index)] = value
    return result


def index_fill_kernel(xp: Any, self: Any, dim: int, index: Any, value: Any, in_place: bool = False) -> Any:
    if isinstance(value, complex) and self.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return index_fill_with(self, dim, index, number_array(value, self.dtype), in_place)


def index_fill_in_place(xp: Any, self: Any, dim: int, index: Any, value: Any) -> Any:
    return index_fill_kernel(xp, self, dim, index, value, True)


def index_fill_tensor_kernel(xp: Any, self: Any, dim: int, index: Any, value: Any) -> Any:
    if value.ndim:
        raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    made = lean.natively(index_fill_scalar, self, dim, index, value.item())
    return index_fill_kernel(xp, self, dim, index, value.item()) if made is None else made


index_fill_tensor = defop(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    kernel=index_fill_tensor_kernel,
    vjp=dict(self=lambda grad, dim, index: grad.index_fill(dim, index, 0),
             value=lambda grad, dim, index: grad.index_select(dim, late._unique(index)[0]).sum()),
    jvp=lambda self_t, value_t, dim, index: self_t.index_fill(dim, index, value_t),
    batch=along_vector, inplace=True, node="IndexFillBackward1", out=False, pattern="moves",
    traits=("chalf",),
)
index_fill_scalar = defop(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    out="aten",
    kernel=index_fill_kernel, lower="@index_fill",
    vjp=dict(self=lambda grad, dim, index: grad.index_fill(dim, index, 0)),
    jvp=lambda self_t, dim, index: self_t.index_fill(dim, index, 0),
    batch=along_vector, inplace=index_fill_in_place, pattern="moves",
    traits=("chalf",),
)


def index_reduce_kernel(xp: Any, self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool) -> Any:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = wrap_dim(dim, self.ndim)
    check_index_add("index_reduce", self, dim, index, source)
    warn_once("index_reduce() is in beta and the API may change at any time.")
    check_rows(index, at_least_1d(self).shape[dim])
    if self.dtype.kind in "bc" and not include_self:
        raise unsupported("index_reduce_func_exclude_input_init", self.dtype)
    if self.dtype.kind in "bc" and self.ndim < 2:
        raise unsupported("index_func_", self.dtype)
    if self.dtype.kind == "b" and reduce == "mean":
        raise unsupported("div_floor_cpu", self.dtype)
    if self.dtype.kind == "c" and reduce in ("amax", "amin"):
        raise unsupported("maximum_cpu" if reduce == "amax" else "minimum_cpu", self.dtype)
    result = copying.copy_of(self)
    reduce_at(at_least_1d(result), rows(dim, index), at_least_1d(source), reduce, include_self)
    return result


def index_reduce_backward(grad: Any, self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool,
                          result: Any) -> Any:
    return reduction_backward(Along(dim, index, True), grad, self, source, reduce, include_self, result)


def index_reduce_tangent(self_p: Any, self_t: Any, dim: int, index: Any, source_p: Any, source_t: Any, reduce: str,
                         include_self: bool, result: Any) -> Any:
    return reduction_tangent(Along(dim, index, True), self_p, self_t, source_p, source_t, reduce, include_self, result)


index_reduce = defop(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    kernel=index_reduce_kernel,
    vjp={("self", "source"): index_reduce_backward}, jvp=index_reduce_tangent, batch=along_vector, inplace=True,
    real_only=True, traits=("apart",),
)
