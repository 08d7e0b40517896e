"""The values of a tensor: detached, as NumPy arrays, Python numbers and text, through DLPack."""
from __future__ import annotations

from importlib import import_module
from numbers import Number
from typing import Any

import numpy as np

from retrograd.core import dtypes, exposed, modes, printing, saved, subclass
from retrograd.core.api import binder
from retrograd.core.dispatch import resolve
from retrograd.core.dlpack import check_exportable
from retrograd.core.hooks import hooks
from retrograd.core.origin import DATA, DETACHED, note_detached
from retrograd.core.state import switches, tls
from retrograd.core.subclass import through_function
from retrograd.core.tensor import (
    COMPILED,
    FLAG_CONJ,
    FLAG_DUAL,
    FLAG_INFERENCE,
    FLAG_META,
    FLAG_NEG,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    FLAG_WRITABLE,
    Tensor,
    counter_of,
    extra_of,
    new_tensor,
    wants_grad,
)
from retrograd.core.views import detach_inplace
from retrograd.core.watching import is_watched
from retrograd.methods.geometry import NO_STORAGE
from retrograd.ops import late
from retrograd.ops.memory.copy import local_scalar_dense


def detach(self: Any) -> Any:
    """The same data and version counter, without history.

    >>> import retrograd as torch
    >>> torch.ones(1, requires_grad=True).exp().detach()
    tensor([2.7183])
    """
    if self._flags & FLAG_SUBCLASS and is_watched(self):
        return through_function(detach, (self,), {})
    return hooks.detach(self)


def detach_(self: Any) -> Any:
    """Forget the history of this tensor; returns it.

    >>> import retrograd as torch
    >>> torch.ones(1, requires_grad=True).exp().detach_().is_leaf
    True
    """
    if tls.inference:                     # autograd does not see it there
        return self
    detach_inplace(self)
    if switches.any_mode and tls.origins:
        note_detached(self, self, DETACHED, "detach_")
    return self


def get_data(self: Any) -> Any:
    if self._flags & FLAG_WRAPPER:
        return hooks.batched_get_data(self)
    if switches.any_mode and tls.dispatch_modes or dispatches(self):
        t = saved.watcher.detach(self)
        t._counter = None
        if t._flags & FLAG_DUAL:
            t._flags &= ~FLAG_DUAL
            t._extra = None
    else:
        t = new_tensor(self.array)
        t._flags = self._flags & ~(FLAG_SUBCLASS | FLAG_DUAL)
        if self._flags & FLAG_INFERENCE and not tls.inference:
            t._flags |= FLAG_WRITABLE
        if self._flags & FLAG_SPARSE:
            extra_of(t).sparse = self._extra.sparse.copy()
    if switches.any_mode and tls.origins:
        note_detached(self, t, DATA, ".data")
    return t


def set_data(self: Any, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if hooks.settle is not None:
        hooks.settle(self, value)
    if (self._flags | value._flags) & FLAG_WRAPPER:
        raise RuntimeError("mutating directly with `.data` inside functorch transform is not allowed.")
    if self._requires and value.dtype.category < 2:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if (self._flags ^ value._flags) & (FLAG_META | FLAG_SPARSE):
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
                           "tensor type.")
    if value.array.dtype is not self.array.dtype:
        self._sink = None
    counter_of(self)                  # before the node that may have saved it loses sight of it
    self.array = value.array
    if value._flags & FLAG_SPARSE:
        self._extra.sparse = value._extra.sparse.copy()


def numpy(self: Any, *, force: bool = False) -> Any:
    """The tensor as a NumPy array over the same memory."""
    if hooks.settle is not None:
        hooks.settle(self)
    if self._flags & FLAG_WRAPPER:
        hooks.batched_data(self)
    if self._flags & FLAG_SPARSE and self.is_nested:
        hooks.nested_answers["numpy"](self)
    if self._flags & FLAG_SUBCLASS and modes.overrides_dispatch(type(self)):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    if force and self._flags & FLAG_SPARSE:
        self = late.to_dense(self.detach())
    if force:
        return resolve(self).array if self._flags & (FLAG_CONJ | FLAG_NEG) else exposed.expose(self.array)
    if self._flags & FLAG_SPARSE:
        raise TypeError(f"can't convert {hooks.layout_name(self)} layout tensor to numpy. Use Tensor.to_dense() "
                        "first.")
    if self._flags & FLAG_META:
        raise TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                        "first.")
    if tls.grad_enabled and wants_grad(self):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self._flags & FLAG_CONJ:
        raise RuntimeError("Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() "
                           "instead.")
    if self._flags & FLAG_NEG:
        raise RuntimeError("Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead.")
    if self.dtype is dtypes.bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    if self.dtype is dtypes.complex32:
        raise TypeError("Got unsupported ScalarType ComplexHalf")
    return exposed.expose(self.array)


def __array__(self: Any, dtype: Any = None, copy: Any = None) -> Any:
    array = numpy(self)
    return array if dtype is None else array.astype(dtype, copy=False)


def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """The tensor for what a NumPy function has made of this one; PyTorch gives truth values as uint8."""
    if array.dtype == np.bool_:
        array = array.astype(np.uint8)
    return late.from_numpy(np.asarray(array))


def dispatches(t: Any) -> bool:
    """Whether `t` is of a class with a `__torch_dispatch__` that sees ops now."""
    return bool(t._flags & FLAG_SUBCLASS) and not tls.dispatch_disabled and modes.overrides_dispatch(type(t))


def item(self: Any) -> Any:
    """The value of a tensor with one element as a Python number."""
    if self._flags & FLAG_SUBCLASS and is_watched(self):
        return through_function(item, (self,), {})
    if switches.any_mode and tls.profiler is not None:
        recorder = tls.profiler
        return recorder.run_function("aten::item", [self], lambda: recorder.run_function(
            "aten::_local_scalar_dense", [self], lambda: number_in(self)))
    return number_in(self)


def number_in(self: Any) -> Any:
    """The result of `item` where no mode or subclass overrides it."""
    if self.array.size != 1:
        if self._flags & FLAG_WRAPPER:
            return hooks.batched_item(self)
        raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
    if switches.any_mode and tls.dispatch_modes:
        local_scalar_dense.prepare()
        return hooks.dispatch_mode(local_scalar_dense, [self])
    if self._flags:
        if self._flags & FLAG_WRAPPER:
            return hooks.batched_item(self)
        if dispatches(self):
            local_scalar_dense.prepare()
            return hooks.dispatch_subclass(local_scalar_dense, [self])
        if self._flags & FLAG_META:
            raise RuntimeError("Tensor.item() cannot be called on meta tensors")
        if self._flags & FLAG_SPARSE:
            self = late.to_dense(self.detach())
        self = resolve(self)
    value = self.array.item()
    return float(value) if self.array.dtype.kind == "V" else value


def number_of(self: Any, kind: str = "") -> Any:
    """The number in a tensor of one element, for float() and its like; `kind` is what a complex number does not fit."""
    if self.array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    value = item(self)
    if kind and isinstance(value, complex) and value.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return value.real if kind and isinstance(value, complex) else value


def tolist(self: Any) -> Any:
    """The values as nested lists of Python numbers."""
    if hooks.settle is not None:
        hooks.settle(self)
    if self._flags & FLAG_WRAPPER:
        return hooks.batched_list(self)
    if self._flags & FLAG_SPARSE:
        if self.is_nested:
            hooks.nested_answers["tolist"](self)
        raise RuntimeError(NO_STORAGE)
    if self._flags & FLAG_SUBCLASS and modes.overrides_dispatch(type(self)):
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")
    if self._flags & FLAG_META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    array = resolve(self).array
    if array.dtype.kind == "V":
        array = array.astype(np.float32)
    return array.tolist()


def tensor_bool(self: Any) -> bool:
    if self._flags & FLAG_WRAPPER and getattr(self._extra.batch, "dim", None) is not None:      # an example, whatever its shape
        return hooks.batched_item(self, "bool")
    if self.array.size == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if self.array.size > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if self._flags & FLAG_WRAPPER:
        return hooks.batched_item(self, "bool")
    return bool(item(self))


def __index__(self: Any) -> int:
    if self.array.size != 1 or self.dtype.category > 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


# ---- Python 2's names of division
def __div__(self: Any, other: Any) -> Any:
    return Tensor.__truediv__(self, other)


def __rdiv__(self: Any, other: Any) -> Any:
    return Tensor.__rtruediv__(self, other)


def __idiv__(self: Any, other: Any) -> Any:
    return Tensor.__itruediv__(self, other)


def __format__(self: Any, spec: str) -> str:
    if self.array.ndim == 0 and type(self) is Tensor and not self._flags & FLAG_META:
        return item(self).__format__(spec)
    return object.__format__(self, spec)


def __contains__(self: Any, element: Any) -> bool:
    if isinstance(element, (Tensor, Number)):
        return bool((element == self).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def __iter__(self: Any) -> Any:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def tensor_repr(self: Any, *, tensor_contents: str | None = None) -> str:
    if hooks.settle is not None:
        hooks.settle(self)
    shown = self
    if self._flags & FLAG_SUBCLASS and "_is_param" in self.__dict__ and self.__dict__["_is_param"] is True:
        text = printing.tensor_str(shown_values(self) if dispatches(self) and tensor_contents is None else self,
                                   tensor_contents=tensor_contents)
        return f"Parameter({text})"
    if tensor_contents is not None:
        return printing.tensor_str(self, tensor_contents=tensor_contents)
    if self._flags & FLAG_WRAPPER:
        return hooks.batched_repr(self)
    if self._flags & FLAG_SPARSE:
        return hooks.sparse_repr(self)
    if self._flags & (FLAG_CONJ | FLAG_NEG):
        shown = resolve(self)
        shown._node, shown._requires = self._node, self._requires
    if dispatches(self):
        shown = shown_values(self)
    return printing.tensor_str(shown)


def shown_values(self: Any) -> Any:
    """A tensor of class and history as `self`, with values that its `__torch_dispatch__` gives."""
    values = [t.item() for t in late.unbind(late.reshape(self.detach(), (-1,)), 0)]
    array = np.array(values).astype(self.array.dtype).reshape(self.array.shape)
    made = subclass.instance(type(self), new_tensor(array))
    made._node, made._requires = self._node, self._requires
    return made


def cuda_array_interface(self: Any) -> Any:
    raise AttributeError(f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required "
                         "use tensor.cuda() to copy tensor to device memory.")


def __dlpack__(self: Any, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    if hooks.settle is not None:
        hooks.settle(self)
    check_exportable(self)
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    array = resolve(self).array if self._flags & FLAG_NEG else self.array
    options = {name: value for name, value in (("max_version", max_version), ("dl_device", dl_device), ("copy", copy))
               if value is not None}
    return exposed.expose(array).__dlpack__(**options)


def __dlpack_device__(self: Any) -> Any:
    if self._flags & FLAG_META:
        raise ValueError("Unknown device type meta for Dlpack")
    return (import_module("retrograd.utils.dlpack").DLDeviceType.kDLCPU, 0)


if COMPILED:                  # answered in C where the tensor is an ordinary one
    item = binder.Question(item)
