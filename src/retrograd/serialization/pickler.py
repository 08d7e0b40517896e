"""The pickle inside a .pt file: tensors and storages by reference, PyTorch's names for what both libraries have."""
from __future__ import annotations

import pickle
import warnings
from collections import OrderedDict
from typing import Any

from retrograd.core import dtypes, storage
from retrograd.core.device import device
from retrograd.core.hooks import hooks
from retrograd.core.reserved import is_reserved
from retrograd.core.tensor import (
    FLAG_CONJ,
    FLAG_META,
    FLAG_NEG,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    Size,
    Tensor,
    new_tensor,
)
from retrograd.methods.copies import reduce_wrapper, user_attributes, user_state, warn_of_hooks
from retrograd.ops.create import generators
from retrograd.ops.memory.copy import contiguous_format
from retrograd.serialization.names import stands_for_torch, torch_name
from retrograd.serialization.options import options
from retrograd.serialization.places import location_tag
from retrograd.storage import STORAGE_TYPES, TypedStorage, UntypedStorage

# Python's own pickler in Python, whose parts can be overridden; type checkers know only the one in C.
PlainPickler: Any = pickle._Pickler
PLAIN = {str, int, float, bool, type(None), bytes, tuple, list, dict, OrderedDict, set}       # asked first, for speed
COMPRESSED = {"sparse_csr": ("crow_indices", "col_indices"), "sparse_csc": ("ccol_indices", "row_indices"),
              "sparse_bsr": ("crow_indices", "col_indices"), "sparse_bsc": ("ccol_indices", "row_indices")}


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


PLAIN.add(Global)
GLOBALS: dict[Any, Global] = {}


def torch_global(name: str, module: str = "torch._utils") -> Global:
    return GLOBALS.setdefault((module, name), Global(module, name))


class Pickler(PlainPickler):
    """Writes PyTorch's form of tensors; `storages` collects the memory that it refers to."""

    def __init__(self, file: Any, protocol: int, legacy: bool = False) -> None:
        super().__init__(file, protocol)
        self.legacy = legacy
        self.storages: list[Any] = []               # the owners of memory, in the order of their keys
        self.item_sizes: list[int] = []
        self.keys: dict[int, tuple[str, str]] = {}  # id of the owner -> key in the archive, kind of storage

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) in PLAIN:
            return None
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
            self.item_sizes.append(1 if kind == "UntypedStorage" else STORAGE_TYPES[kind].dtype.itemsize)
        module = "torch.storage" if obj.kind == "UntypedStorage" else "torch"
        found = ("storage", torch_global(obj.kind, module), key, location_tag(UntypedStorage(obj.owner)), obj.count)
        return (*found, None) if self.legacy else found

    def save_name(self, obj: Global) -> None:
        self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = getattr(obj, "__module__", None) or ""
        if stands_for_torch(module):
            module, name = torch_name(obj, name or obj.__qualname__)
            self.save(torch_global(name, module))
        else:
            super().save_global(obj, name)

    dispatch: Any = {**PlainPickler.dispatch, type(lambda: None): save_global}

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in PLAIN:
            return NotImplemented
        if isinstance(obj, Tensor):
            module = type(obj).__reduce_ex__.__module__ or ""
            if not stands_for_torch(module) and module != "torch":        # a class that knows itself how it is made again
                return NotImplemented
            return reduce_tensor(obj)
        if isinstance(obj, Size):
            return torch_global("Size", "torch"), (tuple(obj),)
        if isinstance(obj, device):
            return torch_global("device", "torch"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, generators.Generator):
            return torch_global("Generator", "torch._C"), (obj.device,), (obj.initial_seed(), None, obj.get_state())
        kind = type(obj).__name__
        if kind == "layout" and stands_for_torch(type(obj).__module__):
            return torch_global("_get_layout", "torch.serialization"), (str(obj),)
        return NotImplemented

    def save_dtype(self, obj: Any) -> None:
        self.save(torch_global(obj.name, "torch"))

    def save_type(self, obj: Any) -> None:
        if obj is Tensor:
            self.save(torch_global("Tensor", "torch"))
        else:
            PlainPickler.save_type(self, obj)

    dispatch[Global] = save_name
    dispatch[dtypes.dtype] = dispatch[type(contiguous_format)] = save_dtype
    dispatch[type] = save_type
    dispatch[type(Tensor)] = save_type


def reduce_tensor(t: Any) -> Any:
    """How a tensor is written: the call that makes it again."""
    if t._flags & FLAG_WRAPPER:
        raise RuntimeError("a tensor that belongs to a transform cannot be saved: return it from the transform first")
    attributes = user_attributes(t)
    warn_of_hooks(t)
    if type(t).__name__ == "Parameter" and stands_for_torch(type(t).__module__):
        args = plain(t), t.requires_grad, OrderedDict()         # type: ignore[var-annotated]
        if not attributes:
            return torch_global("_rebuild_parameter"), args
        return torch_global("_rebuild_parameter_with_state"), (*args, attributes)
    if type(t) is Tensor and not attributes:
        return reduce_plain(t)
    if t._flags & FLAG_SUBCLASS and is_reserved(t.array):
        function, given = torch_global("_rebuild_wrapper_subclass"), reduce_wrapper(t)[1]
    else:
        function, given = reduce_plain(plain(t))
    return torch_global("_rebuild_from_type_v2", "torch._tensor"), (
        function, torch_global("Tensor", "torch") if type(t) is Tensor else type(t), given, user_state(t))


def plain(t: Any) -> Any:
    """The same data without class, history and attributes."""
    if t._flags & FLAG_SPARSE:
        return t.detach()
    twin = new_tensor(t.array)
    twin._flags = t._flags & (FLAG_CONJ | FLAG_META | FLAG_NEG)
    twin._requires = t.requires_grad
    return twin


def reduce_plain(t: Any) -> Any:
    if hooks.settle is not None:
        hooks.settle(t)
    if t._flags & FLAG_SPARSE:
        return reduce_sparse(t)
    array, requires = t.array, bool(t.requires_grad)
    size, strides = tuple(array.shape), storage.strides_of(array)
    if t._flags & FLAG_META:
        if options.skip_data:
            warnings.warn("Serializing tensors on the meta device under skip_data context manager is a no-op", stacklevel=3)
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


def reduce_nested(t: Any) -> Any:
    """Nested tensors are written as their values and where in them the parts lie."""
    requires, t = bool(t.requires_grad), t.detach()
    if str(t.layout) != "torch.jagged":
        return torch_global("_rebuild_nested_tensor"), (
            t.contiguous().values(), t._nested_tensor_size(), t.contiguous()._nested_tensor_strides(),
            t.contiguous()._nested_tensor_storage_offsets())
    given = dict(values=t.values(), offsets=t.offsets(), lengths=t.lengths(), _ragged_idx=t._ragged_idx, _metadata_cache={},
                 requires_grad=requires)
    return torch_global("_rebuild_njt", "torch.nested._internal.nested_tensor"), (given,)


def reduce_sparse(t: Any) -> Any:
    """Sparse tensors are written as their indices, values and size."""
    if t.is_nested:
        return reduce_nested(t)
    t = t.detach()
    name = str(t.layout).removeprefix("torch.")
    if name == "sparse_coo":
        return torch_global("_rebuild_sparse_tensor"), (t.layout, (t._indices(), t._values(), t.size(), t.is_coalesced()))
    outer, inner = COMPRESSED[name]
    return torch_global("_rebuild_sparse_tensor"), (
        t.layout, (getattr(t, outer)(), getattr(t, inner)(), t.values(), t.size()))
