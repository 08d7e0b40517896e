"""Methods and attributes of Tensor that are not ops: its gradient, its data, conversions to Python and NumPy."""
from __future__ import annotations

import warnings
from collections import OrderedDict
from importlib import import_module
from typing import Any

import numpy as np

from retrograd.autograd import hooks as tensor_hooks
from retrograd.autograd.backward import backward
from retrograd.autograd.engine import calibrate
from retrograd.core import dtypes, exposed, printing, saved, storage, subclass
from retrograd.core.api import EXTRA_METHODS, TENSOR_METHODS, binder, expose, operators
from retrograd.core.described import described
from retrograd.core.device import CPU, META
from retrograd.core.dispatch import call, resolve
from retrograd.core.dlpack import check_exportable
from retrograd.core.forward import tangent_of
from retrograd.core.hooks import hooks
from retrograd.core.opdef import CALLERS
from retrograd.core.origin import DATA, DETACHED, SWITCHED_OFF, note_detached
from retrograd.core.reserved import invalid_storage, is_reserved
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
    FUNCTIONS_BY_NAME,
    Counter,
    Size,
    Tensor,
    bump,
    counter_of,
    extra_of,
    install,
    length,
    name_descriptor,
    new_tensor,
    wants_grad,
)
from retrograd.core.views import altered, detach_inplace, replay
from retrograd.core.watching import Attribute, attribute, is_watched, named, seen_method, watch
from retrograd.ops import late
from retrograd.ops.memory.copy import local_scalar_dense
from retrograd.ops.shared.elementwise import C_NAMES

# ---- gradients
NON_LEAF_GRAD = ("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                 "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                 "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
                 "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.")


def get_grad(self: Any) -> Any:
    if self._grad is None and self._node is not None and not (self._extra is not None and self._extra.retains_grad):
        warnings.warn(NON_LEAF_GRAD, UserWarning, stacklevel=2)
    return self._grad


def set_grad(self: Any, value: Any) -> None:
    if value is not None:
        check_new_grad(self, value)
    self._grad = value


def check_new_grad(self: Any, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    extra = self._extra
    expected = extra.grad_dtype if extra is not None and extra.grad_dtype_set else self.dtype
    if expected is not None and value.dtype is not expected:
        raise RuntimeError(f"attempting to assign a gradient with dtype '{C_NAMES[value.dtype.name]}' to a tensor with "
                           f"grad_dtype '{expected.legacy}'. The gradient must match the tensor's grad_dtype (defaults to the "
                           "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
                           "allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient "
                           "may break downstream systems that assume they match.")
    if value.device != self.device:
        raise RuntimeError(f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device "
                           f"type '{self.device.type}'. Please ensure that the gradient and the tensor are on the same device")
    if value.array.shape != self.array.shape:
        raise RuntimeError(f"attempting to assign a gradient of size '{list(value.array.shape)}' to a tensor of size "
                           f"'{list(self.array.shape)}'. Please ensure that the gradient and the tensor are the same size")


def del_grad(self: Any) -> None:
    self._grad = None


def set_requires_grad(self: Any, value: bool) -> None:
    if type(value) is not bool:
        raise RuntimeError("requires_grad must be a bool")
    if value and not self.is_leaf:
        raise RuntimeError("you can only change requires_grad flags of leaf variables.")
    if value and self.dtype.category < 2 and self.grad_fn is None:      # the method says it in fewer words
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    requires_grad_(self, value)


def forbidden_delete(name: str) -> Any:
    def delete(self: Any) -> None:
        raise RuntimeError(f"Tensor attribute '{name}' can't be deleted")
    return delete


def keep_data(self: Any) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
    """Say whether gradients of this leaf are wanted; returns the tensor.

    >>> import retrograd as torch
    >>> torch.ones(1).requires_grad_()
    tensor([1.], requires_grad=True)
    """
    if switches.any_mode and tls.transforms and not (tls.transforms[-1].legacy or tls.transforms[-1].requires_grad_allowed):
        raise RuntimeError("You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
                           "APIs) inside of a function being transformed by a functorch transform. This is unsupported, please "
                           "attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
                           "requires_grad_() outside of a function being transformed instead.")
    if self._recorded is not None:
        if requires_grad:
            return self
        raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                           "in a subgraph that doesn't require differentiation use var_no_grad = var.detach().")
    if requires_grad and self.dtype.category < 2:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if requires_grad and self._flags & FLAG_INFERENCE and not tls.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if switches.any_mode and tls.origins and self._requires and not requires_grad:
        note_detached(self, self, SWITCHED_OFF, "requires_grad_")
    if switches.tape is not None and hooks.settle is not None:
        hooks.settle(self)                        # what waits is recorded with the flag that it had
    self._requires = bool(requires_grad)
    return self


def tensor_backward(self: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False,
                    inputs: Any = None) -> None:
    """Compute the gradients of this tensor with respect to the leaves of its graph.

    >>> import retrograd as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor([6.])
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def get_grad_dtype(self: Any) -> Any:
    if self.grad_fn is not None:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    extra = self._extra
    return extra.grad_dtype if extra is not None and extra.grad_dtype_set else self.dtype


def set_grad_dtype(self: Any, value: Any) -> None:
    if self.grad_fn is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if self._grad is not None and value is not None and self._grad.dtype is not value:
        raise RuntimeError(f"Cannot set grad_dtype to '{value.legacy}' because there is already a gradient with dtype "
                           f"'{C_NAMES[self._grad.dtype.name]}'. Please clear the gradient (.grad = None) before changing "
                           "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype.")
    extra = extra_of(self)
    extra.grad_dtype, extra.grad_dtype_set = value, True


# ---- data
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
    if self._flags & FLAG_SUBCLASS and subclass.overrides_dispatch(type(self)):
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
    return bool(t._flags & FLAG_SUBCLASS) and not tls.dispatch_disabled and subclass.overrides_dispatch(type(t))


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
    if self._flags & FLAG_SUBCLASS and subclass.overrides_dispatch(type(self)):
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
    if isinstance(element, (Tensor, int, float, complex, bool)):
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


# ---- geometry
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


def number_of(self: Any, kind: str = "") -> Any:
    """The number in a tensor of one element, for float() and its like; `kind` is what a complex number does not fit."""
    if self.array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    value = item(self)
    if kind and isinstance(value, complex) and value.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return value.real if kind and isinstance(value, complex) else value


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
    if self._flags & FLAG_SPARSE:
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


# ---- copies
def __deepcopy__(self: Any, memo: Any) -> Any:
    if hooks.settle is not None:
        hooks.settle(self)
    if self._flags & FLAG_WRAPPER:
        raise NotImplementedError(f"Cannot access storage of {wrapper_name(self)}")
    if wants_grad(self) and self.grad_fn is not None:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                           "moment.  If you were attempting to deepcopy a module, this may be because of a torch.nn."
                           "utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001")
    if id(self) in memo:
        return memo[id(self)]
    if self._flags & FLAG_SUBCLASS:
        made = copied_subclass(self, memo)
    elif self._flags & FLAG_SPARSE:
        made = subclass.instance(type(self), late.clone(self.detach()))
        made._flags = self._flags
    else:
        made = subclass.instance(type(self), bare(copied_array(self, memo), self._flags & FLAG_META))
        bump(made)                    # an empty tensor was given this memory
    made._requires = self._requires
    memo[id(self)] = made
    deepcopy = import_module("copy").deepcopy
    if self._grad is not None:
        made._grad = deepcopy(self._grad, memo)
    made.__dict__.update(deepcopy(user_attributes(self), memo))
    for name, value in slot_values(self).items():
        setattr(made, name, deepcopy(value, memo))
    return made


def copied_subclass(self: Any, memo: Any) -> Any:
    """A deep copy of an instance of a subclass, which must know how to make others of its kind."""
    wrapper = is_reserved(self.array) or not self.array.size and not self._flags & FLAG_META      # without memory to copy
    made = self.clone() if wrapper or self._flags & FLAG_SPARSE else self.new_empty([])
    if type(made) is not type(self):
        method = "clone()" if wrapper else "new_empty()"
        kind = "wrapper" if wrapper else "non-wrapper"
        which = "cloning" if wrapper else "that function"
        raise RuntimeError(f"The default implementation of __deepcopy__() for {kind} subclasses only works for subclass types "
                           f"that implement {method} and for which {which} returns another instance of the same subclass. You "
                           f"should either properly implement {method} for your subclass or override __deepcopy__() if it is "
                           f"intended behavior for {method} to return an instance of a different type.")
    if not wrapper and not self._flags & FLAG_SPARSE:
        made.array = copied_array(self, memo)
    return made


def user_attributes(self: Any) -> dict[str, Any]:
    """What was set on the instance from outside."""
    return {name: value for name, value in self.__dict__.items() if name not in FIELDS}


def slot_values(self: Any) -> dict[str, Any]:
    """What the `__slots__` of a subclass hold."""
    if not self._flags & FLAG_SUBCLASS:
        return {}
    names = import_module("copyreg")._slotnames(type(self))
    own = [name for name in names if name not in (*FIELDS, "_cell") and hasattr(self, name)]
    return {name: getattr(self, name) for name in own}


def user_state(self: Any) -> Any:
    """The attributes of an instance as pickles have them: with the values of slots in a second dict, if there are slots."""
    slots = slot_values(self)
    return (user_attributes(self), slots) if slots else user_attributes(self)


FIELDS = ("array", "_flags", "_requires", "_node", "_nr", "_counter", "_view", "_grad", "_sink", "_extra", "_described")


def copied_array(self: Any, memo: Any) -> Any:
    """The array of a deep copy: tensors that share memory share its copy, and lazy conjugation and negation are applied."""
    owner = storage.owner_of(self.array)
    memories = memo.setdefault("torch", {})
    if id(owner) not in memories:
        memories[id(owner)] = storage.bytes_of(owner).copy()
    array = placed(memories[id(owner)], self.array.dtype, *geometry(self.array))
    return resolve(bare(array, self._flags)).array if self._flags & (FLAG_CONJ | FLAG_NEG) else array


def geometry(array: Any) -> Any:
    return storage.offset_of(array), array.shape, array.strides


def placed(memory: Any, dtype: Any, offset: int, shape: Any, strides: Any) -> Any:
    """An array over bytes; one without elements may lie outside of them."""
    return np.ndarray(shape, dtype, memory, 0 if 0 in shape else offset * dtype.itemsize, strides)


def bare(array: Any, flags: int) -> Any:
    """A tensor of the base class with those of `flags` that determine how its memory is read."""
    made = new_tensor(array)
    made._flags = flags & (FLAG_CONJ | FLAG_NEG | FLAG_META)
    return made


def rebuild(cls: Any, memory: Any, place: Any, dtype_name: str, flags: int, requires_grad: bool, attributes: Any) -> Any:
    """Used by pickle, and by copy.copy, whose copies share memory."""
    made = subclass.instance(cls, bare(placed(memory, dtypes.BY_NAME[dtype_name].numpy, *place), flags))
    made._requires = requires_grad
    bump(made)                        # an empty tensor was given this memory
    attributes, slots = attributes if type(attributes) is tuple else (attributes, {})
    made.__dict__.update(attributes)
    for name, value in slots.items():
        setattr(made, name, value)
    return made


def rebuild_wrapper_subclass(cls: Any, dtype: Any, size: Any, stride: Any, storage_offset: int, layout: Any, device: Any,
                             requires_grad: bool) -> Any:
    """An instance of a wrapper subclass, whose attributes are still to be set."""
    return subclass.make_wrapper_subclass(cls, size, stride, storage_offset, dtype=dtype, layout=layout, device=device,
                                          requires_grad=requires_grad)


def reduce_wrapper(self: Any) -> Any:
    """The function and the arguments that make a wrapper subclass again, without its attributes."""
    return rebuild_wrapper_subclass, (type(self), dtypes.BY_NUMPY[self.array.dtype], tuple(self.array.shape),
                                      storage.strides_of(self.array), storage.offset_of(self.array), hooks.layout(self),
                                      META if self._flags & FLAG_META else CPU, wants_grad(self))


def rebuild_wrapper(args: Any, attributes: Any) -> Any:
    """Used by pickle for wrapper subclasses."""
    made = rebuild_wrapper_subclass(*args)
    attributes, slots = attributes if type(attributes) is tuple else (attributes, {})
    made.__dict__.update(attributes)
    for name, value in slots.items():
        setattr(made, name, value)
    return made


def warn_of_hooks(self: Any) -> None:
    """Say that a tensor's hooks are not written with it."""
    for hook in (get_backward_hooks(self) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate "
                          "the function with @torch.utils.hooks.unserializable_hook to suppress this warning", stacklevel=3)


def __reduce_ex__(self: Any, protocol: int) -> Any:
    if hooks.settle is not None:
        hooks.settle(self)
    warn_of_hooks(self)
    if self._flags & FLAG_SPARSE:
        return hooks.sparse_reduce(self)
    if self._flags & FLAG_SUBCLASS and is_reserved(self.array):
        return rebuild_wrapper, (reduce_wrapper(self)[1], user_state(self))
    memory = storage.bytes_of(storage.owner_of(self.array))
    lazy = self._flags & (FLAG_CONJ | FLAG_NEG | FLAG_META)
    return (rebuild, (type(self), memory, geometry(self.array), self.dtype.name, lazy,
                      wants_grad(self), user_state(self)))


def __setstate__(self: Any, state: Any) -> None:
    """What the oldest pickles call on an empty tensor: its storage, offset, size and stride."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if type(state) is not tuple or len(state) != 4 or not hasattr(state[0], "untyped"):
        raise TypeError("__setstate__(): the state of a tensor must be its storage, offset, size and stride")
    self.set_(*state)


def _clear_non_serializable_cached_data(self: Any) -> None:
    """What a class with cached data overrides to forget them before it is pickled; tensors have none."""


def tensor_names(self: Any) -> list[str]:
    """The names of the class and of the instance, without those that are for tensors on other devices."""
    names = {*dir(type(self)), *self.__dict__} - {*FIELDS, "_cell", "volatile", "__cuda_array_interface__"}
    return sorted([name for name in names if answers(self, name)])


def answers(self: Any, name: str) -> bool:
    """Whether a tensor has what the class lists; private properties may be those of another layout."""
    listed = next((c.__dict__[name] for c in type(self).__mro__ if name in c.__dict__), None)     # which loads no table
    private = name.startswith("_") and isinstance(listed, property)
    return not (private or getattr(listed, "of_one_layout", False)) or hasattr(self, name)


tensor_names.__name__ = "__dir__"         # a function of that name in a module answers for the module


def volatile(self: Any) -> bool:
    warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", UserWarning, stacklevel=2)
    return False


def get_backward_hooks(self: Any) -> Any:
    extra, node = self._extra, self._node
    if extra is not None and extra.backward_hooks is not None:
        return extra.backward_hooks
    if node is None:
        found = None if extra is None else extra.hooks
    else:
        found = None if node._hooks_ is None or node._hooks_.tensor is None else node._hooks_.tensor.get(self._nr)
    return OrderedDict(found) if found else None


def get_post_hooks(self: Any) -> Any:
    return None if self._extra is None else self._extra.post_hooks


def cuda_array_interface(self: Any) -> Any:
    raise AttributeError(f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required "
                         "use tensor.cuda() to copy tensor to device memory.")


def set_backward_hooks(self: Any, value: Any) -> None:
    extra_of(self).backward_hooks = value


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


PROPERTIES: dict[str, Any] = dict(
    grad=property(get_grad, set_grad, del_grad),
    _grad_fn=property(lambda self: self.grad_fn, None, forbidden_delete("_grad_fn")),
    _backward_hooks=property(get_backward_hooks, set_backward_hooks, forbidden_delete("_backward_hooks")),
    data=property(get_data, set_data, keep_data),
    requires_grad=property(wants_grad, set_requires_grad, forbidden_delete("requires_grad")),
    grad_dtype=property(get_grad_dtype, set_grad_dtype),
    retains_grad=property(lambda self: bool(self._extra is not None and self._extra.retains_grad)),
    _base=property(get_base),
    _tangent=property(tangent_of),
    volatile=property(volatile),
    itemsize=property(lambda self: self.array.itemsize),
    nbytes=property(nbytes),
    is_cuda=property(lambda self: False),
    is_cpu=property(lambda self: self.device is CPU),
    is_meta=property(lambda self: bool(self._flags & FLAG_META)),
    layout=property(get_layout),
    is_sparse=property(lambda self: bool(self._flags & FLAG_SPARSE) and hooks.layout(self).name == "sparse_coo"),
    is_sparse_csr=property(lambda self: bool(self._flags & FLAG_SPARSE) and hooks.layout(self).name == "sparse_csr"),
    is_nested=property(lambda self: bool(self._flags & FLAG_SPARSE) and getattr(self._extra.sparse, "is_nested", False)),
    is_quantized=property(lambda self: False),
    is_mkldnn=property(lambda self: False),
    **{f"is_{kind}": property(lambda self: False) for kind in ("ipu", "maia", "mps", "mtia", "vulkan", "xla", "xpu")},
    name=property(lambda self: None),
    T=property(lambda self: late.numpy_T(self)),
    mT=property(lambda self: late.mT(self)),
    H=property(lambda self: late.matrix_H(self)),
    mH=property(lambda self: late.mH(self)),
    real=property(lambda self: late.real(self), lambda self, value: late.copy_(late.real(self), value)),
    imag=property(lambda self: late.imag(self), lambda self, value: late.copy_(late.imag(self), value)),
    _cdata=property(id, None, None, "A number that identifies the tensor."),
    _post_accumulate_grad_hooks=property(get_post_hooks, None, forbidden_delete("_post_accumulate_grad_hooks")),
    __cuda_array_interface__=property(cuda_array_interface),
)

PROPERTIES = {name: attribute(name, declared) for name, declared in PROPERTIES.items()}

if COMPILED:                  # answered in C where the tensor is an ordinary one
    dim, numel, size, stride, storage_offset, is_contiguous, item = [
        binder.Question(method) for method in (dim, numel, size, stride, storage_offset, is_contiguous, item)]

# What programs call most asks subclasses itself; for the rest `seen_method` does.
QUICK = dict(item=item, detach=detach, size=size, stride=stride, storage_offset=storage_offset, data_ptr=data_ptr, numel=numel,
             is_contiguous=is_contiguous, dim=dim, is_floating_point=is_floating_point, is_complex=is_complex)
UNTYPED = frozenset({"size", "stride", "is_contiguous"})        # their handlers are not told of plain tensors
OTHERS = dict(
    backward=tensor_backward, requires_grad_=requires_grad_, detach_=detach_, numpy=numpy, __array__=__array__,
    __array_wrap__=__array_wrap__, tolist=tolist, __int__=lambda self: int(number_of(self, "int64_t")),
    __float__=lambda self: float(number_of(self, "double")), __complex__=lambda self: complex(number_of(self)),
    __index__=__index__, __format__=__format__, __contains__=__contains__, untyped_storage=untyped_storage, nelement=numel,
    ndimension=dim, _is_view=_is_view, _view_func=_view_func, is_signed=is_signed, is_inference=is_inference, is_conj=is_conj,
    is_neg=is_neg, get_device=get_device, is_set_to=is_set_to, element_size=lambda self: self.array.itemsize,
    __deepcopy__=__deepcopy__, __reduce_ex__=__reduce_ex__, __setstate__=__setstate__, register_hook=tensor_hooks.register_hook,
    retain_grad=tensor_hooks.retain_grad, __dlpack__=__dlpack__, __dlpack_device__=__dlpack_device__,
    register_post_accumulate_grad_hook=tensor_hooks.register_post_accumulate_grad_hook, __dir__=tensor_names,
    _clear_non_serializable_cached_data=_clear_non_serializable_cached_data,
)
PLAIN = {**QUICK, **{name: seen_method(name, method) for name, method in OTHERS.items()}, "__iter__": __iter__,
         "__div__": __div__, "__rdiv__": __rdiv__, "__idiv__": __idiv__,
         "__nonzero__": seen_method("__nonzero__", tensor_bool), "__long__": seen_method("__long__", OTHERS["__int__"])}
SLOTS = {"__repr__": tensor_repr, "__bool__": tensor_bool, "__len__": length}     # of which Tensor has the special methods
if COMPILED:                   # in C, what they return is a number; as functions they return what a subclass gives
    PLAIN.update({name: seen_method(name, method) for name, method in SLOTS.items()})


def __repr__(self: Any, *, tensor_contents: str | None = None) -> str:
    """The text of the tensor; `tensor_contents` stands in the place of its values."""
    if (self._flags & FLAG_SUBCLASS or switches.function_modes) and is_watched(self):
        return through_function(PLAIN["__repr__"], (self,), {"tensor_contents": tensor_contents}, (type(self),))
    return tensor_repr(self, tensor_contents=tensor_contents)


PLAIN["__repr__"] = __repr__


# Those that PyTorch also has as functions, torch.is_complex(x).
for function in (numel, is_floating_point, is_complex, is_signed, is_inference, is_conj, is_neg, get_device, detach, detach_):
    expose(function, method=False)


def schema_of(op: Any) -> Any:
    """`op._schema`; the parser is for the curious only, so it is not imported with the package."""
    text = op.schema.text.replace(OPTIONS, "") if op.schema.is_out else op.schema.text
    return import_module("retrograd.core.function_schema").parse_schema(f"aten::{text}")


# What the out= forms of factories take in functions and do not show in their schemas.
OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "


CALLERS["schema"] = schema_of


FIELD_NAMES = ("shape", "ndim", "dtype", "device", "grad_fn", "is_leaf", "output_nr", "_version")


def name_attribute(cls: Any, name: str) -> None:
    """Show an attribute that the class itself declares under the name that PyTorch's has, `TensorBase.shape`."""
    declared = vars(cls)[name]
    if isinstance(declared, property):
        install(cls, {name: named(name, Attribute(declared.fget, None, None, declared.__doc__))})
    else:
        name_descriptor(declared, f"TensorBase.{name}")


def install_all() -> None:
    """Put ops, methods and properties on Tensor."""
    install(Tensor, {**TENSOR_METHODS, **EXTRA_METHODS, **PLAIN, **PROPERTIES})
    install(Tensor, subclass.MEMBERS)
    subclass.find_alias()
    for name in FIELD_NAMES:
        name_attribute(Tensor, name)
    watch((*PROPERTIES, *FIELD_NAMES), QUICK, UNTYPED)
    FUNCTIONS_BY_NAME.update(SLOTS)
    FUNCTIONS_BY_NAME.update({name: OTHERS[name] for name in ("__int__", "__float__", "__index__", "__contains__")})
    FUNCTIONS_BY_NAME["__iter__"] = __iter__
    if operators is not None:
        operators.install()
        for name in ("rules", "tangents"):
            import_module(f"retrograd.core.plain.{name}").install()
    calibrate()


__all__ = ["Counter", "bump", "call", "install_all"]
