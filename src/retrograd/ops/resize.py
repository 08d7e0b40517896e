"""Writing one value everywhere, and giving a tensor other memory or another size in place."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import storage
from retrograd.core.dispatch import METHODS
from retrograd.core.opdef import defop
from retrograd.core.state import tls
from retrograd.core.tensor import ODD_META, Tensor, bump, wants_grad
from retrograd.core.views import check_inplace
from retrograd.ops import families
from retrograd.ops.copy import cast_array, channels_last_strides, format_strides, meta_array
from retrograd.ops.factory import as_element, filled, like_array


# ---- one value everywhere
def constant(array: Any, value: Any) -> Any:
    """`value` seen in the shape of `array`, without memory of its own."""
    return np.broadcast_to(np.asarray(as_element(value, array.dtype)).astype(array.dtype, copy=False), array.shape)


def tensor_value(array: Any, value: Any) -> Any:
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return cast_array(value, array.dtype)


def zeros_like(grad: Any) -> Any:
    return METHODS["zeros_like"](grad)


fill_tensor_ = defop(
    "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
    kernel=lambda xp, self, value: xp.broadcast_to(tensor_value(self, value), self.shape),
    vjp=dict(self=zeros_like, value=lambda grad: grad.sum()),
    jvp=lambda self_t, value_t: METHODS["fill"](self_t, value_t), batch=families.pointwise, node="FillBackward1", out=False,
)
fill_scalar_ = defop(
    "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    kernel=lambda xp, self, value: constant(self, value),
    vjp=dict(self=zeros_like), jvp=lambda self_t: zeros_like(self_t), batch=families.pointwise, node="FillBackward0",
    out=False,
)
fill_tensor = defop(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    kernel=lambda xp, self, value: xp.add(like_array(self, None, None, np.zeros), tensor_value(self, value), dtype=self.dtype)
    if self.dtype.kind != "b" else xp.logical_or(like_array(self, None, None, np.zeros), tensor_value(self, value)),
    vjp=dict(self=zeros_like, value=lambda grad: grad.sum()),
    jvp=lambda self_t, value_t: METHODS["fill"](self_t, value_t), batch=families.pointwise, node="FillBackward1", out=False,
    variants="function",
)
fill_scalar = defop(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    kernel=lambda xp, self, value: filled(like_array(self, None, None, np.empty), value),
    vjp=dict(self=zeros_like), jvp=lambda self_t: zeros_like(self_t), batch=families.pointwise, node="FillBackward0",
    out=False, variants="function",
)
zero_ = defop(
    "zero_(Tensor(a!) self) -> Tensor(a!)",
    kernel=lambda xp, self: xp.broadcast_to(xp.zeros((), self.dtype), self.shape),
    vjp=dict(self=zeros_like), jvp="linear", batch=families.pointwise, node="ZeroBackward0", out=False,
)


# ---- other memory, another size
def replace_array(self: Any, array: Any) -> None:
    """Give a tensor other memory; gradients of the old shape must not reach it, so it starts a new accumulator."""
    self.array = array
    self._sink = None


def resize(self: Any, size: Any, memory_format: Any = None) -> Any:
    """Change the size in place; elements keep their place in memory, new memory is uninitialised."""
    if wants_grad(self) and tls.grad_enabled:
        raise RuntimeError("cannot resize variables that require grad")
    size = tuple(size)
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    strides = storage.contiguous_strides(size)
    if memory_format is not None and memory_format.name.startswith("channels_last"):
        strides = channels_last_strides(size)
    elif memory_format is not None and memory_format.name == "preserve_format":
        raise RuntimeError("Unsupported memory format Preserve")
    if size == self.array.shape and memory_format is None:
        return self
    if self._odd & ODD_META:
        self.array = meta_array(size, strides, self.array.dtype)
    else:
        self.array = resized_memory(self.array, size, strides)
    bump(self)
    return self


def resized_memory(array: Any, size: Any, strides: Any) -> Any:
    """The memory of `array` seen in another size, moved if it is too small."""
    offset = storage.offset_of(array)
    item = array.itemsize
    count = 1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)]) if 0 not in size else 0
    owner = storage.owner_of(array)
    if count == 0 or (offset + count) * item <= owner.nbytes:
        return storage.strided(array, size, strides, offset)
    memory = np.empty((offset + count) * item, np.uint8)
    memory[:owner.nbytes] = storage.bytes_of(owner)
    return np.ndarray(size, array.dtype, memory, offset * item, tuple([s * item for s in strides]))


resize_ = defop(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    kernel=resize, composite=True, variants="method", out=False,
)
resize_as_ = defop(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    kernel=lambda self, the_template, memory_format: resize_as(self, the_template, memory_format),
    composite=True, out=False,
)


def resize_as(self: Any, the_template: Any, memory_format: Any) -> Any:
    if memory_format is not None and memory_format.name == "preserve_format":
        resize(self, the_template.array.shape)
        strides = format_strides(the_template.array, None)
        self.array = storage.strided(self.array, the_template.array.shape, strides, storage.offset_of(self.array))
        return self
    return resize(self, the_template.array.shape, memory_format)


def check_set(self: Any) -> None:
    check_inplace(self, wants_grad(self))


def set_empty(self: Any) -> Any:
    check_set(self)
    replace_array(self, np.empty(0, self.array.dtype))
    bump(self)
    return self


def set_tensor(self: Any, source: Any) -> Any:
    """Share the memory and geometry of another tensor."""
    check_set(self)
    if source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype.c_name if hasattr(source.dtype, 'c_name') else C(source)}"
                           f" to a tensor of type {C(self)}")
    replace_array(self, source.array)
    bump(self)
    return self


def C(t: Any) -> str:
    """The name of a tensor's dtype in PyTorch's C++ messages."""
    from retrograd.ops.factory import C_NAMES
    return {"int64": "long", "int8": "signed char", "uint8": "unsigned char"}.get(t.dtype.name, C_NAMES[t.dtype.name])


def set_strided(self: Any, source: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """Share the memory of a tensor or a storage, with a geometry of its own."""
    check_set(self)
    if isinstance(source, Tensor):
        if source.dtype is not self.dtype:
            raise RuntimeError(f"Could not set tensor of type {C(source)} to a tensor of type {C(self)}")
        array = source.array
    else:
        array = typed(source, self.array.dtype)
    strides = tuple(stride) if stride else storage.contiguous_strides(size)
    replace_array(self, storage.strided(array, tuple(size), strides, storage_offset))
    bump(self)
    return self


def typed(source: Any, dtype: Any) -> Any:
    """The memory of a storage as a flat array."""
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


defop("set_(Tensor(a!) self) -> Tensor(a!)", kernel=set_empty, composite=True, variants="method", out=False)
defop("set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", kernel=set_tensor, composite=True,
      variants="method", out=False)
defop("set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, "
      "SymInt[] stride=[]) -> Tensor(a!)", kernel=set_strided, composite=True, variants="method", out=False)
defop("set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)", kernel=set_storage, composite=True,
      variants="method", out=False)
defop("set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, SymInt storage_offset, SymInt[] size, "
      "SymInt[] stride=[]) -> Tensor(a!)", kernel=set_strided, composite=True, variants="method", out=False)
