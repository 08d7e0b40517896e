"""In torch's place `pickle` writes tensors, parameters, storages and constants by PyTorch's names.

PyTorch reads these pickles, and pickles of what contains tensors: modules, optimizers, distributions. `copy.copy` uses the
same functions, with the storage itself in place of its bytes.
"""
from __future__ import annotations

import copyreg
import io
from importlib import import_module
from types import FunctionType
from typing import Any

import retrograd
from retrograd import storage
from retrograd.core.dtypes import dtype
from retrograd.core.tensor import FLAG_WRAPPER, Tensor
from retrograd.core.watching import seen_method
from retrograd.nn import functional
from retrograd.nn.parameter import Parameter
from retrograd.ops.create.generators import Generator
from retrograd.overrides import BUILT_IN
from retrograd.serialization.pickler import Global, StorageReference, reduce_tensor


def install() -> None:
    """Let tensors, storages and generators reduce to calls of PyTorch's functions."""
    own = Tensor.__reduce_ex__

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        if self._flags & FLAG_WRAPPER:
            return own(self, protocol)
        function, args = reduce_tensor(self)
        return resolved(function), tuple([resolved(arg) for arg in args])

    Parameter.__reduce_ex__ = __reduce_ex__             # type: ignore[assignment]
    Tensor.__reduce_ex__ = seen_method("__reduce_ex__", __reduce_ex__)  # type: ignore[method-assign]
    for kind in (storage.TypedStorage, storage.UntypedStorage):
        kind.__reduce__ = reduce_storage                # type: ignore[method-assign]
    Generator.__reduce__ = reduce_generator             # type: ignore[method-assign]
    copyreg.pickle(dtype, lambda value: value.name)     # type: ignore[arg-type]
    copyreg.pickle(type(retrograd.ops.aten.add), reduce_packet)     # type: ignore[arg-type]
    name_methods()
    for name in BUILT_IN:
        getattr(functional, name).__module__ = "torch._C._nn"


def name_methods() -> None:
    """Let the names of Tensor's methods lead to them, not to the functions of the same names."""
    for name, member in vars(Tensor).items():
        if getattr(member, "__qualname__", "") == name and getattr(member, "__module__", "") == "torch":
            try:
                member.__qualname__ = f"Tensor.{name}"
            except AttributeError:      # made by the compiled core, and reduced by itself
                pass


def resolved(value: Any) -> Any:
    """An argument in a file of `torch.save` as an object that `pickle` writes by the same name."""
    if isinstance(value, Global):
        return named(value.module, value.name)
    if isinstance(value, StorageReference):
        memory = storage.UntypedStorage(value.owner)
        if value.kind == "UntypedStorage":
            return memory
        return storage.TypedStorage(wrap_storage=memory, dtype=storage.STORAGE_TYPES[value.kind].dtype, _internal=True)
    return tuple([resolved(part) for part in value]) if type(value) is tuple else value


def named(module: str, name: str) -> Any:
    """The object `name` of `module`, which is replaced by a copy with this name if it is a function with another."""
    found = getattr(import_module(module), name)
    if isinstance(found, FunctionType) and (found.__module__, found.__qualname__) != (module, name):
        copy = FunctionType(found.__code__, found.__globals__, name, found.__defaults__, found.__closure__)
        copy.__kwdefaults__, copy.__doc__, copy.__module__, copy.__qualname__ = (
            found.__kwdefaults__, found.__doc__, module, name)
        setattr(import_module(module), name, copy)
        return copy
    return found


def reduce_storage(self: Any) -> Any:
    """A storage is pickled as a file; PyTorch reads one of bytes only from the newer kind of file."""
    file = io.BytesIO()
    retrograd.save(self, file, _use_new_zipfile_serialization=isinstance(self, storage.UntypedStorage))
    return named("torch.storage", "_load_from_bytes"), (file.getvalue(),)


def reduce_packet(self: Any) -> Any:
    """An op of `torch._C._nn` that has no public function is found there by its name."""
    name = self.__name__
    if self is not getattr(import_module("torch._C._nn"), name, None):
        raise TypeError(f"cannot pickle {self!r}")
    return getattr, (ModuleByName("torch._C._nn"), name)


class ModuleByName:
    """Stands for a module in a pickle."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        return import_module, (self.name,)


def reduce_generator(self: Any) -> Any:
    return type(self), (self.device,), (self.initial_seed(), None, self.get_state())
