"""The gradient of a tensor, whether it has one, and its hooks."""
from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from retrograd.autograd.backward import backward
from retrograd.core.arguments import type_name
from retrograd.core.hooks import hooks
from retrograd.core.origin import SWITCHED_OFF, note_detached
from retrograd.core.state import switches, tls
from retrograd.core.tensor import (
    FLAG_INFERENCE,
    Tensor,
    extra_of,
)
from retrograd.ops.shared.elementwise import C_NAMES

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
    if type(requires_grad) is not bool:
        raise TypeError("requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                        f"{type_name(requires_grad)}")
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


def set_backward_hooks(self: Any, value: Any) -> None:
    extra_of(self).backward_hooks = value
