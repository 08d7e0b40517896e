"""fill_ and zero_, and in-place changes of a tensor's memory or size."""
from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from retrograd.core import dtypes, storage
from retrograd.core.deterministic import Mode, fill_grown
from retrograd.core.hooks import hooks
from retrograd.core.kernels import check_writable
from retrograd.core.modes import overrides_dispatch
from retrograd.core.opdef import OpDef, defop
from retrograd.core.reserved import is_reserved, reserved_array
from retrograd.core.state import switches, tls
from retrograd.core.tensor import (
    FLAG_INFERENCE,
    FLAG_META,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    Tensor,
    bump,
    counter_of,
    wants_grad,
)
from retrograd.core.views import check_inplace
from retrograd.ops import late
from retrograd.ops.create.constants import like_array
from retrograd.ops.create.elements import element_for, filled
from retrograd.ops.memory.copy import cast_array, channels_last_strides, format_strides, meta_array
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import C_NAMES


# ---- filling
def write_number(xp: Any, self: Any, value: Any) -> Any:
    self[...] = element_for(self, value)
    return self


def write_tensor(xp: Any, self: Any, value: Any) -> Any:
    element = checked_value(self, value)
    check_writable(self)
    self[...] = element
    return self


def write_zero(xp: Any, self: Any) -> Any:
    self[...] = self.dtype.type(0)
    return self


def checked_value(array: Any, value: Any) -> Any:
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return cast_array(value, array.dtype)


def zeros_like(grad: Any) -> Any:
    return late.zeros_like(grad)


def filled_with(self_t: Any, value_t: Any) -> Any:
    return late.fill(self_t, value_t)


def batch_fill(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule of fill_ with a batched value."""
    target, value = args
    if dims[1] is None:
        return families.pointwise(op, args, dims, size)
    target = families.move_to_front(target, dims[0]) if dims[0] is not None else target.expand((size, *target.shape))
    if not op.is_inplace:
        target = late.empty_like(target)
    return target.copy_(value.reshape((size,) + (1,) * (target.ndim - 1))), 0


fill_tensor_ = defop(
    "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
    kernel=write_tensor,
    vjp=dict(self=zeros_like, value=lambda grad: grad.sum()),
    jvp=filled_with, batch=batch_fill, node="FillBackward3", out=False, lower="@fill_",
    traits=("chalf",), nested="parts",
)
fill_scalar_ = defop(
    "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    kernel=write_number,
    vjp=dict(self=zeros_like), jvp=lambda self_t: zeros_like(self_t), batch=families.pointwise, node="FillBackward2",
    lower="@fill_", out=False,
    traits=("chalf",),
)
fill_tensor = defop(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    kernel=lambda xp, self, value: write_tensor(xp, like_array(self, None, None, np.empty), value),
    vjp=dict(self=zeros_like, value=lambda grad: grad.sum()),
    jvp=filled_with, batch=batch_fill, node="FillBackward1", out=False, variants="function", pattern="elements",
    lower="@fill",
    traits=("chalf",),
)
fill_scalar = defop(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    kernel=lambda xp, self, value: filled(like_array(self, None, None, np.empty), value),
    vjp=dict(self=zeros_like), jvp=lambda self_t: zeros_like(self_t), batch=families.pointwise, node="FillBackward0",
    lower="@fill", out=False, variants="function", pattern="constant",
    traits=("chalf",),
)
zero_ = defop(
    "zero_(Tensor(a!) self) -> Tensor(a!)",
    kernel=write_zero,
    vjp=dict(self=zeros_like), jvp="linear", batch=families.pointwise, node="ZeroBackward0",
    lower="@zero_", out=False,
    traits=("chalf",), nested="parts",
)


# ---- other memory, another size
def replace_array(self: Any, array: Any) -> None:
    """Replace a tensor's memory; gradients of the old shape must not reach it, so it gets a new accumulator."""
    counter_of(self)                  # create it first, so that a node that saved the tensor shares it
    self.array = array
    self._sink = None


COMPRESSED = ("SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc")


def resize(self: Any, size: Any, memory_format: Any = None) -> Any:
    """Change the size in place; elements keep their place in memory, new memory is uninitialised."""
    if wants_grad(self) and not self._flags & FLAG_INFERENCE:       # inference tensors are below autograd
        raise RuntimeError("cannot resize variables that require grad")
    if switches.any_mode and tls.dispatch_modes:
        return hooks.dispatch_mode(resize_, [self, list(size), memory_format])
    if self._flags & FLAG_SUBCLASS and not tls.dispatch_disabled and overrides_dispatch(type(self)):
        return hooks.dispatch_subclass(resize_, [self, list(size), memory_format])
    if self._flags & FLAG_SPARSE:
        if hooks.layout_name(self) in COMPRESSED:
            return hooks.resize_compressed(self, tuple(size))
        raise hooks.missing_method("resize_", self)
    size = tuple(size)
    if memory_format is None and size == self.array.shape:
        return self
    if any([n < 0 for n in size]):
        raise RuntimeError("numel: integer multiplication overflow")
    strides = storage.contiguous_strides(size)
    if memory_format is not None and memory_format.name.startswith("channels_last"):
        rank = 5 if memory_format.name == "channels_last_3d" else 4
        if len(size) != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {memory_format.name} format")
        strides = channels_last_strides(size)
    elif memory_format is not None and memory_format.name == "preserve_format":
        raise RuntimeError("Unsupported memory formatPreserve")
    if self._flags & FLAG_WRAPPER:
        return hooks.batched_resize(self, size)
    before = self.array.shape
    memory = storage.owner_of(self.array).nbytes if Mode.asked and not self._flags & FLAG_META else None
    set_geometry(self, size, strides)
    if memory is not None:
        fill_grown(self.array, memory)
    if size != before:
        bump(self)
    return self


def set_geometry(self: Any, size: Any, strides: Any) -> None:
    """Set another size at the same memory; if it is too small, all tensors on it move."""
    if self._flags & FLAG_META:
        self.array = meta_array(size, strides, self.array.dtype)
        return
    array = self.array
    if self._flags & FLAG_SUBCLASS and is_reserved(array):
        self.array = reserved_array(size, strides, array.dtype, storage.offset_of(array))
        return
    # Other tensors on the same memory reference its array; three references are the tensor's, this function's and the call's.
    shared = self._view is not None or sys.getrefcount(array) > 3
    stored = storage.storage_of(array) if shared else None
    last = storage.offset_of(array) + 1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)])
    if stored is not None and 0 not in size and last * array.itemsize > len(stored) and stored.resizable():
        hooks.resize_storage(stored, last * array.itemsize)
    self.array = resized_memory(self.array, size, strides)


def resized_memory(array: Any, size: Any, strides: Any, offset: Any = None) -> Any:
    """The memory of `array` seen in another size, moved if it is too small."""
    offset = storage.offset_of(array) if offset is None else offset
    if storage.native_strided is not None:
        made = storage.native_strided(array, size, strides, offset)
        if made is not None:
            return made
    item = array.itemsize
    count = 1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)]) if 0 not in size else 0
    owner = storage.owner_of(array)
    if count == 0 or (offset + count) * item <= owner.nbytes:
        return storage.strided(array, size, strides, offset)
    memory = np.zeros((offset + count) * item, np.uint8)
    memory[:owner.nbytes] = storage.bytes_of(owner)
    return np.ndarray(size, array.dtype, memory, offset * item, tuple([s * item for s in strides]))


resize_ = defop(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    kernel=resize, composite=True, variants="method", out=False, traits=("inplace_view",),
)
resize_as_ = defop(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    kernel=lambda self, the_template, memory_format: resize_as(self, the_template, memory_format),
    composite=True, out=False, traits=("inplace_view",),
)


def resize_out(out: Any, value: Any) -> None:
    """Resize an out= tensor to the shape of the result, keeping its storage offset."""
    if out.array.size:
        warn_resized(out, value)
    shape, strides = value.array.shape, storage.strides_of(value.array)
    if not value.array.size or not storage.is_non_overlapping_and_dense(shape, strides):
        strides = storage.contiguous_strides(shape)
    set_geometry(out, shape, strides)


def warn_resized(out: Any, value: Any) -> None:
    warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.array.shape)}, which does "
                  f"not match the required output shape {list(value.array.shape)}. This behavior is deprecated, and in a "
                  "future PyTorch release outputs will not be resized unless they have zero elements. You can explicitly "
                  "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).", UserWarning,
                  stacklevel=4)


hooks.resize_out = resize_out


def resize_as(self: Any, the_template: Any, memory_format: Any) -> Any:
    if self._flags & the_template._flags & FLAG_SPARSE:
        return late.resize_as_sparse_(self, the_template)
    if memory_format is not None and memory_format.name == "preserve_format":
        resize(self, the_template.array.shape)
        strides = format_strides(the_template.array, None)
        self.array = storage.strided(self.array, the_template.array.shape, strides, storage.offset_of(self.array))
        return self
    return resize(self, the_template.array.shape, memory_format) if memory_format is not None or wants_grad(self) or (
        self._flags or self.array.shape != the_template.array.shape) else self


def check_set(self: Any) -> None:
    if self._flags & FLAG_WRAPPER:
        raise RuntimeError("derivative for set_ is not implemented. Inside of a transform a tensor has no memory to exchange; "
                           "give the name to the other tensor instead.")
    check_inplace(self, wants_grad(self))


def set_empty(self: Any) -> Any:
    check_set(self)
    replace_array(self, np.empty(0, self.array.dtype))
    bump(self)
    return self


def set_tensor(self: Any, source: Any) -> Any:
    """Share the memory and geometry of another tensor."""
    if source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {type_words(source)} to a tensor of type {type_words(self)}")
    check_set(self)
    replace_array(self, source.array)
    bump(self)
    return self


def type_words(t: Any) -> str:
    """The C++ name of a tensor's element type."""
    return C_NAMES[t.dtype.name]


def set_strided(self: Any, source: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """Share the memory of a tensor or a storage, with a geometry of its own."""
    check_set(self)
    if isinstance(source, Tensor):
        if not source.is_contiguous():
            raise RuntimeError("passed in tensor to be used as storage must be contiguous")
        storage_offset += source.storage_offset() if storage_offset >= 0 else 0
        if source.dtype is not self.dtype:
            return set_strided(self, source.untyped_storage(), storage_offset, size, stride)
        array = source.array
    else:
        array = typed(source, self.array.dtype)
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if stride and len(stride) != len(size):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if stride and min(stride) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if size and min(size) < 0:
        raise RuntimeError(f"numel: integer multiplication overflow\nSizes may not be negative: {list(size)}.")
    strides = tuple(stride) if stride else storage.contiguous_strides(size)
    replace_array(self, resized_memory(array, tuple(size), strides, storage_offset))
    bump(self)
    return self


def typed(source: Any, dtype: Any) -> Any:
    """The memory of a storage as a flat array; a typed storage must have the tensor's dtype."""
    own = getattr(source, "dtype", None)
    if own is not None and own.numpy != dtype:
        raise RuntimeError(f"Expected a Storage of type {C_NAMES[dtypes.BY_NUMPY[dtype].name]} or an UntypedStorage, but got "
                           f"type {own.legacy} for argument 1 'storage'")
    untyped = getattr(source, "_untyped_storage", source)
    memory = storage.bytes_of(untyped.owner)
    count = memory.nbytes // dtype.itemsize
    return np.ndarray((count,), dtype, memory, 0, (dtype.itemsize,))


def set_storage(self: Any, source: Any) -> Any:
    array = typed(source, self.array.dtype)
    check_set(self)
    replace_array(self, array)
    bump(self)
    return self


defop("set_(Tensor(a!) self) -> Tensor(a!)", kernel=set_empty, composite=True, variants="method", out=False,
      traits=("inplace_view", "any_device"))
defop("set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", kernel=set_tensor, composite=True,
      variants="method", out=False, traits=("inplace_view", "any_device"))
defop("set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, "
      "SymInt[] stride=[]) -> Tensor(a!)", kernel=set_strided, composite=True, variants="method", out=False,
      traits=("inplace_view", "any_device"))
defop("set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)", kernel=set_storage, composite=True,
      variants="method", out=False, traits=("inplace_view", "any_device"))
defop("set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, SymInt storage_offset, SymInt[] size, "
      "SymInt[] stride=[]) -> Tensor(a!)", kernel=set_strided, composite=True, variants="method", out=False,
      traits=("inplace_view", "any_device"))
