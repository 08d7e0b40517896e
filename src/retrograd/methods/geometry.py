"""Sizes, strides and memory of a tensor, and what kind of tensor it is."""
from __future__ import annotations

from typing import Any

from retrograd.core import exposed, storage
from retrograd.core.api import binder
from retrograd.core.described import described
from retrograd.core.hooks import hooks
from retrograd.core.reserved import invalid_storage, is_reserved
from retrograd.core.subclass import through_function
from retrograd.core.tensor import (
    COMPILED,
    FLAG_CONJ,
    FLAG_INFERENCE,
    FLAG_META,
    FLAG_NEG,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    Size,
)
from retrograd.core.views import altered, replay
from retrograd.core.watching import is_watched


def size(self: Any, dim: Any = None) -> Any:
    """The shape, or the length of one dimension."""
    if self._flags & FLAG_SUBCLASS:
        if is_watched(self):
            return through_function(size, (self,) if dim is None else (self, dim), {})
        found = described(self, "size")
        if found is not None:
            return found if dim is None else found[checked_dim(dim, len(found))]
    if self._flags & FLAG_SPARSE and self.is_nested:
        return hooks.nested_answers["size"](self, dim)
    if dim is None:
        return Size(self.array.shape)
    return self.array.shape[checked_dim(dim, self.array.ndim)]


def checked_dim(dim: int, ndim: int) -> int:
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        low, high = -max(ndim, 1), max(ndim, 1) - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim


def check_strides(self: Any, what: str) -> None:
    """Compressed sparse tensors have no strides, not even zeros."""
    kind = hooks.layout(self).name
    if kind not in ("strided", "sparse_coo"):
        raise RuntimeError(f"Sparse {kind.removeprefix('sparse_').upper()} tensors do not have {what}")


def stride(self: Any, dim: Any = None) -> Any:
    if self._flags & FLAG_SUBCLASS:
        if is_watched(self):
            return through_function(stride, (self,) if dim is None else (self, dim), {})
        found = described(self, "stride")
        if found is not None:
            return found if dim is None else found[checked_dim(dim, len(found))]
    if self._flags & FLAG_SPARSE:
        if self.is_nested:
            return hooks.nested_answers["stride"](self, dim)
        check_strides(self, "strides")
    strides = storage.strides_of(self.array)
    return strides if dim is None else strides[checked_dim(dim, self.array.ndim)]


def storage_offset(self: Any) -> int:
    if self._flags & FLAG_SUBCLASS:
        if is_watched(self):
            return through_function(storage_offset, (self,), {})
        found = described(self, "storage_offset")
        if found is not None:
            return found
    return storage.offset_of(self.array)


NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


def data_ptr(self: Any) -> int:
    if self._flags & FLAG_SUBCLASS and is_watched(self):
        return through_function(data_ptr, (self,), {})
    if hooks.settle is not None:
        hooks.settle(self)
    if self._flags & FLAG_SPARSE:
        if self.is_nested:
            return hooks.nested_answers["data_ptr"](self)
        raise RuntimeError(NO_STORAGE)
    if self._flags & FLAG_SUBCLASS and is_reserved(self.array):
        return 0
    if self._flags & FLAG_WRAPPER:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
    return storage.address(self.array) if self.array.size else 0


def untyped_storage(self: Any) -> Any:
    if hooks.settle is not None:
        hooks.settle(self)
    if self._flags & FLAG_WRAPPER:
        raise NotImplementedError(f"Cannot access storage of {wrapper_name(self)}")
    if self._flags & FLAG_SUBCLASS and is_reserved(self.array):
        return invalid_storage(self.array)
    if self._flags & FLAG_SPARSE:
        if self.is_nested:
            return hooks.nested_answers["untyped_storage"](self)
        coordinates = hooks.layout(self).name == "sparse_coo"
        raise NotImplementedError(f"Cannot access storage of Sparse{'' if coordinates else 'Csr'}TensorImpl")
    found = storage.storage_of(exposed.expose(self.array))
    if self._flags & FLAG_META:
        found.meta = True
    return found


def nbytes(self: Any) -> int:
    if self._flags & FLAG_SPARSE and hooks.layout(self).name == "sparse_coo":
        raise RuntimeError("nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add "
                           "the nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, "
                           "multiply numel() by element_size()")
    return int(self.array.nbytes)


def dim(self: Any) -> int:
    """The number of dimensions."""
    if self._flags & FLAG_SUBCLASS:
        if is_watched(self):
            return through_function(dim, (self,), {})
        found = described(self, "dim")
        if found is not None:
            return found
    return self.array.ndim


def numel(self: Any) -> int:
    if self._flags & FLAG_SUBCLASS:
        if is_watched(self):
            return through_function(numel, (self,), {})
        found = described(self, "numel")
        if found is not None:
            return found
    return int(self.array.size)


def is_contiguous(self: Any, *, memory_format: Any = None) -> bool:
    if self._flags & FLAG_SUBCLASS:
        if is_watched(self):
            return through_function(is_contiguous, (self,), {} if memory_format is None else {"memory_format": memory_format})
        found = described(self, "is_contiguous", *([] if memory_format is None else [memory_format]))
        if found is not None:
            return found
    if self._flags & FLAG_SPARSE:
        if self.is_nested:
            return hooks.nested_answers["is_contiguous"](self)
        check_strides(self, "is_contiguous")
        return False
    if memory_format is not None and not hasattr(memory_format, "name"):
        raise TypeError("is_contiguous(): argument 'memory_format' must be torch.memory_format, not "
                        f"{type(memory_format).__name__}")
    if memory_format is None or getattr(memory_format, "name", "") in ("contiguous_format", "preserve_format", ""):
        return self.array.size == 0 or bool(self.array.flags.c_contiguous)
    if self._flags & FLAG_WRAPPER and hasattr(self._extra.batch, "dim"):
        raise RuntimeError("NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format")
    return hooks.is_channels_last(self, memory_format)


def get_layout(self: Any) -> Any:
    found = described(self, "layout") if self._flags & FLAG_SUBCLASS else None
    return hooks.layout(self) if found is None else found


def get_base(self: Any) -> Any:
    return None if self._view is None else self._view.base


def _is_view(self: Any) -> bool:
    return self._view is not None


def _view_func(self: Any, new_base: Any, symint_visitor_fn: Any = None, tensor_visitor_fn: Any = None) -> Any:
    return replay(altered(self._view, symint_visitor_fn, tensor_visitor_fn), new_base)


def is_floating_point(self: Any) -> bool:
    if self._flags & FLAG_SUBCLASS and is_watched(self):
        return through_function(is_floating_point, (self,), {})
    return self.dtype.is_floating_point


def is_complex(self: Any) -> bool:
    if self._flags & FLAG_SUBCLASS and is_watched(self):
        return through_function(is_complex, (self,), {})
    return self.dtype.is_complex


def is_signed(self: Any) -> bool:
    return self.dtype.is_signed


def is_inference(self: Any) -> bool:
    return bool(self._flags & FLAG_INFERENCE)


def is_conj(self: Any) -> bool:
    return bool(self._flags & FLAG_CONJ)


def is_neg(self: Any) -> bool:
    return bool(self._flags & FLAG_NEG)


def get_device(self: Any) -> int:
    return -1 if self.device.index is None else self.device.index


def is_set_to(self: Any, other: Any) -> bool:
    return (data_ptr(self) == data_ptr(other) and self.array.shape == other.array.shape
            and self.array.strides == other.array.strides)


def wrapper_name(self: Any) -> str:
    """PyTorch's class of the tensors of a running transform."""
    return "BatchedTensorImpl" if getattr(self._extra.batch, "dim", None) is not None else "TensorWrapper"


if COMPILED:                  # answered in C where the tensor is an ordinary one
    dim, numel, size, stride, storage_offset, is_contiguous = [
        binder.Question(method) for method in (dim, numel, size, stride, storage_offset, is_contiguous)]
