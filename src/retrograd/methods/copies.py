"""Copies and pickles of tensors."""
from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from retrograd.core import dtypes, storage, subclass
from retrograd.core.device import CPU, META
from retrograd.core.dispatch import resolve
from retrograd.core.hooks import hooks
from retrograd.core.reserved import is_reserved
from retrograd.core.tensor import (
    FLAG_CONJ,
    FLAG_META,
    FLAG_NEG,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    bump,
    new_tensor,
    wants_grad,
)
from retrograd.methods.geometry import wrapper_name
from retrograd.methods.gradients import get_backward_hooks
from retrograd.ops import late


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
    return reduce_by_memory(self)


def reduce_by_memory(self: Any) -> Any:
    """The call of `rebuild` that makes a dense tensor again."""
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
