"""Choosing by a condition: where, masked_fill/select/scatter, nonzero; choosing rows of a table: embedding, one_hot."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean, storage
from retrograd.core.algorithms import native
from retrograd.core.api import expose
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.hooks import hooks
from retrograd.core.kernels import is_shared
from retrograd.core.opdef import NOT_IMPLEMENTED, OPS, OpDef, defop
from retrograd.core.state import tls
from retrograd.core.tensor import FLAG_SUBCLASS, FLAG_WRAPPER, Tensor, counter_of, new_tensor
from retrograd.ops import late
from retrograd.ops.indexing.index import INT64, add_at, common_shape, iteration_strides, laid_out
from retrograd.ops.shared import families
from retrograd.ops.shared.along import keep, put_masked, take_rows
from retrograd.ops.shared.along import nonzero as positions_of
from retrograd.ops.shared.dtype_checks import check_types
from retrograd.ops.shared.elementwise import C_NAMES, must_not_write
from retrograd.ops.shared.geometry import expanded
from retrograd.ops.shared.numbers import number_array


# ---- where
def where_kernel(xp: Any, condition: Any, self: Any, other: Any) -> Any:
    made = chosen(xp, condition, self, other) if condition.dtype.kind == "b" else None
    if made is not None:
        return made
    if condition.dtype == np.uint8:
        warnings.warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
                      "future version of PyTorch. Use a boolean condition instead.", UserWarning, stacklevel=2)
        condition = condition != 0
    if condition.dtype.kind != "b":
        raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                           f"{BY_NUMPY[condition.dtype].legacy}")
    self, other = promoted(self, other)
    if where.native is not None and self.ndim == other.ndim == 0:      # both operands are numbers
        made = where.native(condition, self, other)
        if made is not None:
            return made
    shape = common_shape(common_shape(condition.shape, self.shape), other.shape)
    result = xp.asarray(xp.where(condition, self, other))
    if len(shape) < 2:
        return result
    return laid_out(result, iteration_strides(shape, [broadcast_steps(a, shape) for a in (condition, self, other)]))


def chosen(xp: Any, condition: Any, self: Any, other: Any) -> Any:
    """`where` of arrays of one dtype, or of one with dimensions and a real number: each has the shape of the result, row by
    row, or is a single element. None for other operands."""
    whole = self if type(self) in lean.ARRAYS and self.ndim else other
    if type(whole) not in lean.ARRAYS or not whole.ndim or where.native is not None:
        return None
    dtype, shape = whole.dtype, condition.shape if condition.ndim else whole.shape
    if len(shape) > 1 and (1 in shape or 0 in shape):
        return None
    operands = []
    for value in (self, other):
        if type(value) in lean.ARRAYS:
            if value.dtype is not dtype:
                return None
        elif (type(value) is float or type(value) is int) and dtype.char in "fd" and -1e30 < value < 1e30:
            value = families.number_like(xp, whole, value)
        else:
            return None
        operands.append(value)
    for value in (condition, *operands):
        if value.ndim and (value.shape != shape or not value.flags.c_contiguous):
            return None
    return xp.where(condition, *operands)


def promoted(*operands: Any) -> list[Any]:
    """Arrays and Python numbers as arrays of their common dtype."""
    kind = type(operands[0])
    if kind in (float, int) and all([type(v) is kind for v in operands]):
        dtype = dtypes.get_default_dtype().numpy if kind is float else INT64
        return [number_array(v, dtype) for v in operands]
    arrays = [v for v in operands if isinstance(v, np.ndarray)]
    numbers = [v for v in operands if not isinstance(v, np.ndarray)]
    dtype = dtypes.result_type_of([BY_NUMPY[a.dtype] for a in arrays if a.ndim],
                                  [BY_NUMPY[a.dtype] for a in arrays if not a.ndim], numbers).numpy
    return [v.astype(dtype, copy=False) if isinstance(v, np.ndarray) else number_array(v, dtype) for v in operands]


def broadcast_steps(array: Any, shape: Any) -> list[int]:
    """The strides of `array` seen in a larger shape: 0 where it is repeated."""
    extra = len(shape) - array.ndim
    return [0] * extra + [0 if n == 1 and shape[extra + k] != 1 else s
                          for k, (n, s) in enumerate(zip(array.shape, array.strides, strict=True))]


where_condition = defop(
    "where(Tensor condition) -> Tensor[]",
    kernel=lambda condition: nonzero_tuple(condition), composite=True, pattern="moves", masked="where",
    doc="""Elements of the one tensor where a condition holds, and of the other elsewhere.
    >>> torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([1, 4])
    """,
)
where = defop(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    kernel=where_kernel,
    vjp=dict(self=lambda grad, condition: late.where(condition, grad, 0),
             other=lambda grad, condition: late.where(condition, 0, grad)),
    jvp=lambda condition, self_t, other_t: late.where(condition, self_t, other_t), batch=families.pointwise,
    elementwise=False, mixes=False, out="same: Expected out type to be {value} but got {out}",
    lower="self if condition else other", traits=("guarded", "out_first", "out_joint", "chalf"), pattern="moves",
)


def where_numbers(condition: Any, self: Any, other: Any) -> Any:
    """`where` with numbers: modes see tensors of one dtype."""
    if is_ordinary(condition) or not (tls.dispatch_modes or condition._flags & FLAG_SUBCLASS):
        return call(where, [condition, self, other])
    dtype = late.result_type(self, other)
    last = other if isinstance(other, Tensor) else hooks.scalar_tensor(other, dtype)
    first = self if isinstance(self, Tensor) else hooks.scalar_tensor(self, dtype)
    return call(where, [condition, first.to(dtype), last.to(dtype)])


# Before the overload with a number for `self`, which would read the value of a tensor without dimensions.
where_scalar_other = defop(
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    kernel=where_numbers, composite=True, out=False, pattern="moves",
)
where_scalar_self = defop(
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    kernel=where_numbers, composite=True, out=False,
    variants="function", pattern="moves",
)
where_scalar = defop(
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    kernel=where_numbers, composite=True, out=False,
    variants="function", pattern="moves",
)


# ---- nonzero
def nonzero_kernel(xp: Any, self: Any) -> Any:
    found = positions_of(self) if self.ndim else xp.zeros((0, int(bool(self != 0))), np.int64)
    return found.T if found.shape[1] else storage.empty_strided(found.T.shape, (1, 0), found.dtype)


nonzero = defop(
    "nonzero(Tensor self) -> Tensor",
    meta="values",
    kernel=nonzero_kernel, batch=families.varying_shapes, variants="", lower="@native.positions",
    out="same: nonzero: Expected out tensor to have scalar type {value} but got scalar type{out}",
    traits=("chalf",),
    doc="""The indices of the elements that are not zero, one row for each.
    >>> torch.nonzero(torch.tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """,
)


def nonzero_tuple(self: Any) -> Any:
    """One vector of positions for each dimension."""
    self = self.unsqueeze(0) if self.ndim == 0 else self
    return tuple(call(nonzero, [self]).unbind(1))


@expose(name="nonzero")
def public_nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """The positions of all elements that are not zero: one row each, or one vector for each dimension (`as_tuple`)."""
    if as_tuple:
        return nonzero_tuple(input)
    return OPS["nonzero"](input) if out is None else OPS["nonzero"](input, out=out)


nonzero_numpy = defop(
    "nonzero_numpy(Tensor self) -> Tensor[]",
    kernel=nonzero_tuple, composite=True, variants="",
)
argwhere = defop("argwhere(Tensor self) -> Tensor", kernel=lambda self: call(nonzero, [self]), composite=True, out=False,
                 lower="@native.positions")


def nonzero_static_kernel(xp: Any, self: Any, size: int, fill_value: int) -> Any:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = nonzero_kernel(xp, self)[:size]
    result = xp.full((size, self.ndim), fill_value, np.int64)
    result[:len(found)] = found
    return result


nonzero_static = defop(
    "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    kernel=nonzero_static_kernel, batch=families.loop, traits=("out_untracked", "chalf"),
)

# ---- masked_fill
LARGEST = 3.4e38            # numbers up to it fit any float type except half precision
SHARED = ("Use of {0} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
          "applies to advanced indexing e.g. tensor[mask] = scalar")


def fill_in_place(xp: Any, self: Any, mask: Any, value: Any) -> Any:
    check_mask(mask)
    shape = common_shape(self.shape, mask.shape)          # the error names them in this order
    if shape != self.shape or mask.dtype.kind != "b" or not is_shared(self):
        return filled(xp, self, mask, value)
    warnings.warn(SHARED.format("masked_fill_"), UserWarning, stacklevel=2)
    xp.copyto(self, number_array(value, self.dtype), where=mask)          # a shared element is filled if any position is
    return self


def check_mask(mask: Any) -> None:
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                           f"{C_NAMES.get(BY_NUMPY[mask.dtype].name, str(mask.dtype))}")


def filled(xp: Any, self: Any, mask: Any, value: Any) -> Any:
    shape = common_shape(mask.shape, self.shape)
    check_mask(mask)
    if self.dtype.char in "fd" and shape == self.shape == mask.shape and (
            self.flags.c_contiguous and mask.flags.c_contiguous) and (
            type(value) is float and not LARGEST < abs(value) < math.inf or type(value) is int and abs(value) < 65536):
        made = lean.natively(where, mask, value, self)
        if made is not None:
            return made
    result = xp.empty(shape, self.dtype)
    result[...] = self
    xp.copyto(result, number_array(value, self.dtype), where=mask)
    return result


def fill_tensor_kernel(xp: Any, self: Any, mask: Any, value: Any) -> Any:
    if value.ndim:
        common_shape(mask.shape, self.shape)
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    return filled(xp, self, mask, value.item())


def fill_tensor_in_place(xp: Any, self: Any, mask: Any, value: Any) -> Any:
    if value.ndim:
        return fill_tensor_kernel(xp, self, self, value)      # the value is checked before the mask
    return fill_in_place(xp, self, mask, value.item())


def fill_tensor_batch(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    self, mask, value = args
    (rank,) = families.example_ranks([value], [dims[2]])
    if rank:
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{rank} dimension(s).")
    if dims[2] is None:
        return families.pointwise(op, args, dims, size)
    result, dim = families.pointwise(where, [mask, value.to(self.dtype), self], [dims[1], dims[2], dims[0]], size)
    return (self.movedim(dims[0], 0).copy_(result), 0) if op.is_inplace else (result, dim)


masked_fill_tensor = defop(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    kernel=fill_tensor_kernel,
    vjp=dict(self=lambda grad, mask: grad.masked_fill(mask, 0),
             value=lambda grad, mask: late.where(mask, grad, 0).sum()),
    jvp=lambda self_t, value_t, mask: self_t.masked_fill(mask, value_t),
    batch=fill_tensor_batch, inplace=fill_tensor_in_place, node="MaskedFillBackward1", out=False, pattern="moves",
    traits=("chalf",), masked="fill",
)
masked_fill_scalar = defop(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    out="aten",
    kernel=filled,
    vjp=dict(self=lambda grad, mask: grad.masked_fill(mask, 0)),
    jvp=lambda self_t, mask: self_t.masked_fill(mask, 0), batch=families.pointwise, inplace=fill_in_place, elementwise=False,
    pattern="moves",
    traits=("chalf",),
)


# ---- masked_select and masked_scatter
def masked_select_kernel(xp: Any, self: Any, mask: Any) -> Any:
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = common_shape(mask.shape, self.shape)
    return keep(lean.broadcast_to(self, shape), lean.broadcast_to(mask, shape)) if shape else self[mask]


def masked_select_backward(grad: Any, self: Any, mask: Any) -> Any:
    shape = lean.broadcast_shapes(self.array.shape, mask.array.shape)
    made = late.zeros_like(self.expand(shape))         # an in-place write keeps the memory order of the input
    return made.masked_scatter(mask, grad) if must_not_write(made, grad) or mask._flags else made.masked_scatter_(mask, grad)


masked_select = defop(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    meta="values",
    out="same: masked_select(): self and result must have the same scalar type",
    kernel=masked_select_kernel,
    vjp=dict(self=masked_select_backward),
    jvp=lambda self_t, mask: self_t.masked_select(mask), batch=families.loop,
    traits=("out_apart", "out_first", "chalf"), pattern="moves",
    doc="""The elements where a mask is true, as a vector.
    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """,
)


def masked_scatter_kernel(xp: Any, self: Any, mask: Any, source: Any) -> Any:
    return scattered(xp, self, mask, source, common_shape(mask.shape, self.shape))


def masked_scatter_in_place(xp: Any, self: Any, mask: Any, source: Any) -> Any:
    return scattered(xp, self, mask, source, self.shape)


def scattered(xp: Any, self: Any, mask: Any, source: Any, shape: Any) -> Any:
    if self.dtype != source.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{BY_NUMPY[self.dtype].legacy} and {BY_NUMPY[source.dtype].legacy}")
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_scatter_ only supports boolean masks, but got mask with dtype "
                           f"{BY_NUMPY[mask.dtype].legacy}")
    if mask.shape != shape:
        mask = expanded(mask, shape)
    result = xp.empty(shape, self.dtype)
    result[...] = self
    count = int(xp.count_nonzero(mask))
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    put_masked(result, mask, source.reshape(-1)[:count])
    return result


def masked_scatter_backward_kernel(xp: Any, grad_output: Any, mask: Any, sizes: Any) -> Any:
    shape = common_shape(grad_output.shape, mask.shape)
    chosen = lean.broadcast_to(grad_output, shape)[lean.broadcast_to(mask, shape)]
    result = xp.zeros(int(np.prod(sizes)), grad_output.dtype)
    result[:chosen.size] = chosen
    return result.reshape(tuple(sizes))


masked_scatter = defop(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    out="aten",
    kernel=masked_scatter_kernel,
    vjp=dict(self=lambda grad, mask: grad.masked_fill(mask, 0),
             source=lambda grad, mask, source_sym_sizes: call(masked_scatter_backward, [grad, mask, source_sym_sizes])),
    jvp=lambda self_t, mask, source_t: self_t.masked_scatter(mask, source_t), batch=families.loop,
    inplace=masked_scatter_in_place, pattern="moves",
    traits=("chalf",),
)
masked_scatter_backward = defop(
    "masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor",
    kernel=masked_scatter_backward_kernel,
    vjp=dict(grad_output=lambda grad, grad_output_shape, mask:
             grad.new_zeros(grad_output_shape).masked_scatter(mask, grad)),
    jvp="linear", batch=families.loop, variants="", out=False,
)


# ---- embedding
def embedding_kernel(xp: Any, weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool,
                     sparse: bool) -> Any:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_types("embedding", 1, "indices", indices.dtype, "Long, Int")
    if not lean.within(indices, 0, weight.shape[0]):
        if not weight.shape[0]:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        raise IndexError("index out of range in self")
    return take_rows(weight, indices)


def embedding_backward(grad: Any, indices: Any, weight_sym_argsize_0: int, padding_idx: int, scale_grad_by_freq: bool,
                       sparse: bool) -> Any:
    if sparse:
        return hooks.embedding_gradient(grad, indices, weight_sym_argsize_0, padding_idx, scale_grad_by_freq)
    return call(embedding_dense_backward, [grad, indices, weight_sym_argsize_0, padding_idx, scale_grad_by_freq])


def embedding_batch(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    weight, indices = args[:2]
    if dims[0] is None:
        return call(op, [weight, families.move_to_front(indices, dims[1]), *args[2:]]), 0
    return families.loop(op, args, dims, size)


def embedding_dense_backward_kernel(xp: Any, grad_output: Any, indices: Any, num_weights: int, padding_idx: int,
                                    scale_grad_by_freq: bool) -> Any:
    check_types("embedding_backward", 2, "indices", indices.dtype, "Long, Int")
    flat = indices.reshape(-1)
    width = grad_output.shape[-1]
    rows = grad_output.reshape(-1, width)
    result = xp.zeros((num_weights, width), grad_output.dtype)
    kept = flat != padding_idx
    if padding_idx >= 0:
        rows, flat = rows[kept], flat[kept]
    if scale_grad_by_freq:
        rows = rows / xp.bincount(flat, minlength=num_weights)[flat][:, None].astype(rows.dtype)
    add_at(result, flat, rows)
    return result


def embedding_double_backward(grad: Any, indices: Any, padding_idx: int) -> Any:
    rows = grad.index_select(0, indices.reshape(-1))
    if padding_idx >= 0:
        rows = rows.masked_fill((indices == padding_idx).reshape(-1, 1), 0)
    return rows.view((*indices.shape, -1))


embedding = defop(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) "
    "-> Tensor",
    out="aten",
    kernel=embedding_kernel,
    vjp=dict(weight=embedding_backward),
    jvp=lambda weight_t, indices, padding_idx, scale_grad_by_freq, sparse:
        late.embedding(weight_t, indices, padding_idx, scale_grad_by_freq, sparse),
    batch=embedding_batch, variants="function", real_only=True, pattern="moves",
)
embedding_dense_backward = defop(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
    "bool scale_grad_by_freq) -> Tensor",
    kernel=embedding_dense_backward_kernel,
    vjp=dict(grad_output=embedding_double_backward), jvp="linear", batch=families.loop, variants="", real_only=True,
    out_form="out",
)


def embedding_renorm_kernel(xp: Any, self: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    if self.ndim != 2:
        raise RuntimeError(f"Expected 2-dimensional tensor, but got {self.ndim}-dimensional tensor for argument #1 'self' "
                           "(while checking arguments for embedding_renorm_)")
    check_types("embedding_renorm_", 2, "indices", indices.dtype, "Long, Int")
    if self.dtype.kind in "iub":
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {BY_NUMPY[self.dtype].legacy} "
                           "instead.")
    for row in sorted(set(indices.reshape(-1).tolist())):
        norm = xp.linalg.norm(self[row], norm_type)
        if norm > max_norm:
            self[row] *= max_norm / (norm + 1e-7)
    return self


embedding_renorm_ = defop(
    "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
    kernel=embedding_renorm_kernel, vjp=NOT_IMPLEMENTED, batch=families.loop, variants="function", out=False,
)


def stands_for_many(t: Any) -> bool:
    """Whether a tensor inside transforms is batched at one of their levels."""
    while t._flags & FLAG_WRAPPER:
        if hasattr(t._extra.batch, "dim"):
            return True
        t = t._extra.batch.value
    return False


def readable(t: Any) -> Any:
    """The tensor below all transforms, for reading its values."""
    while t._flags & FLAG_WRAPPER:
        t = t._extra.batch.value
    return t


def one_hot_of(self: Any, num_classes: int = -1) -> Any:
    if self.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self._flags & FLAG_WRAPPER and stands_for_many(self):      # its values cannot be read
        if num_classes <= 0:
            raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes "
                               "argument.")
        return (self.unsqueeze(-1) == late.arange(num_classes, device=self.device)).to(dtypes.int64)
    values = readable(self).array
    if native is not None and is_ordinary(self):
        made = native.one_hot(values, num_classes)
        if made is not None:
            result = new_tensor(made)
            counter_of(result).n = 2 if values.size else 0          # zeroed, then written to
            return result
    if not values.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return new_tensor(np.zeros((*values.shape, num_classes), np.int64))
    if values.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(values.max()) + 1
    elif values.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    zeros = self.new_empty((*values.shape, num_classes)).zero_()
    return zeros.scatter_(-1, self.unsqueeze(-1), 1)


one_hot = defop(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    kernel=one_hot_of, composite=True, out=False, variants="",
)
