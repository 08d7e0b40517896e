"""The pickle inside a .pt file: tensors and storages by reference, PyTorch's names for what both libraries have.

NOTE [Reading safely]
A pickle is a program. Read with `weights_only`, it may name only what ALLOWED lists and what the user declared safe, and may
set attributes only on objects of harmless types; everything else raises before it happens. The reader is Python's own one in
its plain form, so that every instruction that could do harm passes through a method here.
"""
from __future__ import annotations

import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from retrograd.core import dtypes, storage, subclass
from retrograd.core.device import device
from retrograd.core.tensor import FLAG_CONJ, FLAG_META, FLAG_NEG, FLAG_SPARSE, Size, Tensor, new_tensor
from retrograd.methods import user_attributes
from retrograd.ops import late
from retrograd.ops.memory import copy as layouts
from retrograd.storage import STORAGE_TYPES, TypedStorage, UntypedStorage

PACKAGE = "retrograd"
# Python's own pickler and unpickler in Python, whose parts can be overridden; type checkers know only the ones in C.
PlainPickler: Any = pickle._Pickler
PlainUnpickler: Any = pickle._Unpickler


# ---- writing
class Global:
    """A function or class of PyTorch's, to be named in the pickle though it need not exist here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        raise TypeError(f"{self.module}.{self.name} is a name in a file, not a function")


class StorageReference:
    """Stands in the pickle for the memory of tensors."""

    def __init__(self, owner: Any, kind: str, count: int) -> None:
        self.owner, self.kind, self.count = owner, kind, count


GLOBALS: dict[Any, Global] = {}


def torch_global(name: str, module: str = "torch._utils") -> Global:
    return GLOBALS.setdefault((module, name), Global(module, name))


class Pickler(PlainPickler):
    """Writes PyTorch's form of tensors; `storages` collects the memory that it refers to."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, 2)
        self.storages: list[Any] = []               # the owners of memory, in the order of their keys
        self.keys: dict[int, tuple[str, str]] = {}  # id of the owner -> key in the archive, kind of storage

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, UntypedStorage):
            obj = StorageReference(obj.owner, "UntypedStorage", len(obj))
        elif isinstance(obj, TypedStorage):
            obj = StorageReference(obj.untyped().owner, obj.pickle_storage_type(), len(obj))
        if not isinstance(obj, StorageReference):
            return None
        key, kind = self.keys.setdefault(id(obj.owner), (str(len(self.storages)), obj.kind))
        if kind != obj.kind:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        if int(key) == len(self.storages):
            self.storages.append(obj.owner)
        module = "torch.storage" if obj.kind == "UntypedStorage" else "torch"
        return "storage", torch_global(obj.kind, module), key, "cpu", obj.count

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if type(obj) is not Global:
            super().save(obj, save_persistent_id)
            return
        if id(obj) in self.memo:
            self.write(self.get(self.memo[id(obj)][0]))
            return
        self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = getattr(obj, "__module__", None) or ""
        if module == PACKAGE or module.startswith(PACKAGE + "."):
            # what both libraries have, under its name there
            self.save(torch_global(name or obj.__qualname__, "torch" + module.removeprefix(PACKAGE)))
        else:
            super().save_global(obj, name)

    dispatch: Any = {**PlainPickler.dispatch, type(lambda: None): save_global}

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return reduce_tensor(obj)
        if isinstance(obj, Size):
            return torch_global("Size", "torch"), (tuple(obj),)
        if isinstance(obj, device):
            return torch_global("device", "torch"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, layouts.layout):
            return torch_global("_get_layout", "torch.serialization"), (str(obj),)
        return NotImplemented

    def save_dtype(self, obj: Any) -> None:
        self.save(torch_global(obj.name, "torch"))

    def save_type(self, obj: Any) -> None:
        if obj is Tensor:
            self.save(torch_global("Tensor", "torch"))
        else:
            PlainPickler.save_type(self, obj)

    dispatch[dtypes.dtype] = save_dtype
    dispatch[type] = save_type
    dispatch[type(Tensor)] = save_type


def reduce_tensor(t: Any) -> Any:
    """How a tensor is written: the call that makes it again."""
    attributes = user_attributes(t)
    if type(t).__name__ == "Parameter" and not attributes:
        return torch_global("_rebuild_parameter"), (plain(t), t.requires_grad, OrderedDict())
    if type(t) is Tensor and not attributes:
        return reduce_plain(t)
    function, args = reduce_plain(plain(t))
    return torch_global("_rebuild_from_type_v2", "torch._tensor"), (
        function, torch_global("Tensor", "torch") if type(t) is Tensor else type(t), args, attributes)


def plain(t: Any) -> Any:
    """The same data without class, history and attributes."""
    twin = new_tensor(t.array)
    twin._flags = t._flags & (FLAG_CONJ | FLAG_META | FLAG_NEG | FLAG_SPARSE)
    twin._requires = t.requires_grad
    return twin


def reduce_plain(t: Any) -> Any:
    if t._flags & FLAG_SPARSE:
        raise NotImplementedError("sparse tensors cannot be saved yet: save their indices(), values() and size()")
    array, requires = t.array, bool(t.requires_grad)
    size, strides = tuple(array.shape), storage.strides_of(array)
    if t._flags & FLAG_META:
        return torch_global("_rebuild_meta_tensor_no_storage"), (t.dtype, size, strides, requires)
    owner = storage.owner_of(array)
    legacy = f"{t.dtype.legacy}Storage"
    kind = legacy if legacy in STORAGE_TYPES else "UntypedStorage"
    reference = StorageReference(owner, kind, owner.nbytes if kind == "UntypedStorage" else owner.nbytes // array.itemsize)
    args: tuple[Any, ...] = (reference, storage.offset_of(array), size, strides, requires, OrderedDict())
    if kind == "UntypedStorage":
        return torch_global("_rebuild_tensor_v3"), (*args, t.dtype)
    bits = {name: True for name, flag in (("conj", FLAG_CONJ), ("neg", FLAG_NEG)) if t._flags & flag}
    return torch_global("_rebuild_tensor_v2"), (*args, bits) if bits else args


# ---- reading
def rebuild_tensor(typed: Any, offset: int, size: Any, stride: Any, requires_grad: bool = False, hooks: Any = None,
                   metadata: Any = None) -> Any:
    """A tensor on memory that others may share."""
    return rebuild_typed(typed, offset, size, stride, requires_grad, hooks, typed.dtype, metadata)


def rebuild_typed(typed: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, dtype: Any,
                  metadata: Any = None) -> Any:
    memory, item = storage.bytes_of(typed.untyped().owner), dtype.numpy.itemsize
    last = offset + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
    count = int(np.prod(size, dtype=np.int64))
    if count and (offset < 0 or (last + 1) * item > memory.nbytes or any([n < 0 or s < 0 for n, s in zip(size, stride)])):
        raise pickle.UnpicklingError(f"a tensor of size {tuple(size)}, stride {tuple(stride)} and offset {offset} does not fit "
                                     f"into its storage of {memory.nbytes} bytes")
    start = offset * item if count else 0
    t = new_tensor(np.ndarray(tuple(size), dtype.numpy, memory, start, tuple([s * item for s in stride])))
    t._requires = bool(requires_grad)
    for name, flag in (("conj", FLAG_CONJ), ("neg", FLAG_NEG)):
        if metadata and metadata.get(name):
            t._flags |= flag
    return t


def rebuild_parameter(data: Any, requires_grad: bool, hooks: Any, state: Any = None) -> Any:
    made = import_module(f"{PACKAGE}.nn").Parameter(data, requires_grad)
    if state:
        made.__dict__.update(state)
    return made


def rebuild_meta(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    return late.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def rebuild_from_type(function: Callable[..., Any], cls: Any, args: Any, state: Any) -> Any:
    t = function(*args)
    if type(t) is not cls:
        t = subclass.instance(cls, t)
    if hasattr(cls, "__setstate__") and getattr(cls, "__setstate__", None) is not getattr(Tensor, "__setstate__", None):
        t.__setstate__(state)
    elif state:
        t.__dict__.update(state[0] if isinstance(state, tuple) else state)
    return t


def encode_bytes(text: str, encoding: str) -> bytes:
    """How the old pickle protocols write bytes."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in a file are written in latin1, not in {encoding}")
    return text.encode("latin1")


def find_layout(name: str) -> Any:
    return getattr(layouts, name.removeprefix("torch."))


ALLOWED: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor"): rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v3"): rebuild_typed,
    ("torch._utils", "_rebuild_parameter"): rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): rebuild_parameter,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): rebuild_meta,
    ("torch._tensor", "_rebuild_from_type_v2"): rebuild_from_type,
    ("torch.serialization", "_get_layout"): find_layout,
    ("torch.storage", "UntypedStorage"): UntypedStorage,
    ("torch.storage", "TypedStorage"): TypedStorage,
    ("torch", "Size"): Size,
    ("torch", "Tensor"): Tensor,
    ("torch", "device"): device,
    ("_codecs", "encode"): encode_bytes,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("collections", "defaultdict"): defaultdict,
    ("collections", "deque"): deque,
    **{("builtins", kind.__name__): kind for kind in (set, frozenset, bytes, bytearray, complex, slice, range)},
    **{("torch", name): kind for name, kind in STORAGE_TYPES.items()},
    **{("torch", name): dtype for name, dtype in dtypes.BY_NAME.items()},
}
SETTABLE = (OrderedDict, Tensor)          # what `weights_only` lets a pickle set attributes of


class Unpickler(PlainUnpickler):
    """Reads the pickle of an archive; `storage_of` finds the memory for a key."""

    def __init__(self, file: Any, storage_of: Callable[..., Any], weights_only: bool, safe: dict[tuple[str, str], Any],
                 encoding: str = "utf-8") -> None:
        super().__init__(file, encoding=encoding)
        self.storage_of, self.weights_only, self.safe = storage_of, weights_only, safe

    def persistent_load(self, saved_id: Any) -> Any:
        if not isinstance(saved_id, tuple) or len(saved_id) != 5 or saved_id[0] != "storage":
            raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {saved_id!r}")
        _, kind, key, location, count = saved_id
        dtype = dtypes.uint8 if kind is UntypedStorage else kind.dtype
        untyped = self.storage_of(key, location, dtype, count * dtype.itemsize)
        return untyped if kind is UntypedStorage else TypedStorage(wrap_storage=untyped, dtype=dtype)

    def find_class(self, module: str, name: str) -> Any:
        module = {"__builtin__": "builtins"}.get(module, module)          # the name it had in Python 2
        found = ALLOWED.get((module, name), self.safe.get((module, name)))
        if found is None and (module, name) in (("torch.nn.parameter", "Parameter"), ("torch.nn.parameter", "Buffer")):
            found = getattr(import_module(f"{PACKAGE}.nn"), name)
        if found is not None:
            return found
        if self.weights_only:
            raise pickle.UnpicklingError(
                f"Unsupported global: GLOBAL {module}.{name} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{module}.{name}])` or the "
                f"`torch.serialization.safe_globals([{module}.{name}])` context manager to allowlist this global if you trust "
                "this class/function.")
        if module == "torch" or module.startswith("torch."):
            module = PACKAGE + module.removeprefix("torch")
        return super().find_class(module, name)

    def load_build(self) -> None:
        if self.weights_only:
            target = self.stack[-2]
            if not isinstance(target, (*SETTABLE, *[kind for kind in self.safe.values() if isinstance(kind, type)])):
                raise pickle.UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                                             f"`add_safe_globals`, but got {type(target)}")
            if isinstance(target, OrderedDict):
                target.__dict__.update(self.stack.pop())
                return
        super().load_build()

    dispatch: Any = {**PlainUnpickler.dispatch, pickle.BUILD[0]: load_build}
