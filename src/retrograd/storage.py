"""Storages under PyTorch's names: the bytes of a tensor (`UntypedStorage`), and the same seen as elements (`TypedStorage`)."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from retrograd.core import dtypes
from retrograd.core.api import EXTRA_FUNCTIONS, expose
from retrograd.core.device import parse_device
from retrograd.core.hooks import hooks
from retrograd.core.opdef import defop
from retrograd.core.shared_memory import new_shared
from retrograd.core.storage import UntypedStorage, bytes_of, offset_of, owner_of, storage_of
from retrograd.core.tensor import Tensor
from retrograd.ops.shared import families

__all__ = ["STORAGE_TYPES", "TypedStorage", "UntypedStorage"]

DEPRECATED = ("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
              "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
              "tensor.untyped_storage() instead of tensor.storage()")


INITIAL = ("TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
           " * (*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
           " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
           " * (*, UntypedStorage wrap_storage, torch.dtype dtype)")


def refuse(kind: Any, head: str, reason: str) -> None:
    """Raise the error of a constructor, which lists what it takes."""
    raise kind(f"{head}\n{reason}")


def check_wrapped(args: Any, wrap_storage: Any, head: str) -> None:
    if args:
        refuse(RuntimeError, head, "No positional arguments should be given when using 'wrap_storage'")
    if not isinstance(wrap_storage, UntypedStorage):
        refuse(TypeError, head, f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")


def new_memory(given: Any, dtype: Any, device: Any) -> UntypedStorage:
    """Memory for a number of elements, or with the elements of a sequence."""
    if isinstance(given, int):
        return UntypedStorage(given * dtype.itemsize, device=device)
    if isinstance(given, str):
        raise TypeError("new(): invalid data type 'str'")
    array = np.array(given, dtype.numpy)
    made = UntypedStorage(array.nbytes, device=device)
    bytes_of(made.owner)[...] = array.view(np.uint8).reshape(-1)
    return made


class TypedStorage:
    """A flat sequence of elements in memory.

    >>> storage = TypedStorage([1, 2, 3], dtype=dtypes.int64)
    >>> storage[1], len(storage), storage.nbytes()
    (2, 3, 24)
    """

    is_cuda = is_sparse = False

    def __init__(self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None,
                 _internal: bool = False) -> None:
        if dtype is not None and wrap_storage is None and not isinstance(dtype, dtypes.dtype):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        self.dtype = dtype or dtypes.get_default_dtype()
        if wrap_storage is None:
            if len(args) > 1:
                refuse(RuntimeError, INITIAL, "Too many positional arguments")
            wrap_storage = new_memory(args[0] if args else 0, self.dtype, device)
        else:
            check_wrapped(args, wrap_storage, INITIAL)
            if dtype is None:
                refuse(RuntimeError, INITIAL, "Argument 'dtype' must be specified")
            if not isinstance(dtype, dtypes.dtype):
                refuse(TypeError, INITIAL, f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
            if device is not None:
                refuse(RuntimeError, INITIAL, "Argument 'device' should not be specified when 'wrap_storage' is given")
        self._untyped_storage = wrap_storage

    @property
    def _array(self) -> Any:
        self._untyped_storage._check_values()
        memory = bytes_of(self._untyped_storage.owner)
        return memory[:len(memory) // self.dtype.itemsize * self.dtype.itemsize].view(self.dtype.numpy)

    @property
    def device(self) -> Any:
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def __len__(self) -> int:
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    size = __len__

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._array[self._checked(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, int) and not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {len(self)}")
        self._array[index if isinstance(index, slice) else self._checked(index)] = value

    def _checked(self, index: Any) -> Any:
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return index

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.dtype is other.dtype and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        lines = "...\n" if self._untyped_storage.meta else "".join([f" {value}\n" for value in self.tolist()])
        return f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        array = self._array
        return (array.astype(np.float32) if array.dtype.kind == "V" else array).tolist()

    def data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def element_size(self) -> int:
        return self.dtype.itemsize

    def get_device(self) -> None:
        """The number of the device: the cpu has none."""

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the storage type, or a copy with another one."""
        if dtype is None:
            return "torch.storage.TypedStorage" if self._untyped_storage.meta else f"torch.{self.pickle_storage_type()}"
        return self._converted(STORAGE_TYPES[str(dtype).removeprefix("torch.")].dtype if isinstance(dtype,
                                                                                                    str) else dtype.dtype)

    def pickle_storage_type(self) -> str:
        return f"{self.dtype.legacy}Storage"

    def _converted(self, dtype: Any) -> TypedStorage:
        if self._untyped_storage.meta:
            return TypedStorage(len(self), dtype=dtype, device="meta")
        return TypedStorage(self._array.astype(dtype.numpy), dtype=dtype)

    def clone(self) -> TypedStorage:
        """A copy in memory of its own."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        self._untyped_storage.cpu()
        return self

    def pin_memory(self, device: Any = None) -> TypedStorage:
        self._untyped_storage.pin_memory(device)
        return self

    def fill_(self, value: Any) -> TypedStorage:
        if not self._untyped_storage.meta:
            self._array[...] = value
        return self

    def copy_(self, source: Any, non_blocking: Any = None) -> TypedStorage:
        if isinstance(source, UntypedStorage) or self._untyped_storage.meta:
            self._untyped_storage.copy_(source)
        else:
            self._array[...] = source._array if isinstance(source, TypedStorage) else source
        return self

    def resize_(self, size: int) -> None:
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def resizable(self) -> bool:
        return self._untyped_storage.resizable()

    @property
    def filename(self) -> str | None:
        return self._untyped_storage.filename

    def is_pinned(self, device: Any = "cuda") -> bool:
        return False

    def is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        self._untyped_storage.share_memory_()
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """A copy on a device; the storage itself if it is there."""
        if parse_device(device).type != "cpu":
            raise RuntimeError(f"storages are in the memory of the cpu, not on {device}")
        return self

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=copy.deepcopy(self._untyped_storage, memo), dtype=self.dtype)

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> TypedStorage:
        """The elements in a buffer, which are copied."""
        dtype = dtype or getattr(cls, "dtype", None) or dtypes.get_default_dtype()
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs), dtype=dtype)

    _from_buffer = from_buffer

    # The same under the names that PyTorch's own code calls, so as not to warn that such storages will go.
    _cdata = property(lambda self: self._untyped_storage._cdata)
    _dtype = property(lambda self: self.dtype)
    _data_ptr, _nbytes, _element_size, _size, _resize_ = data_ptr, nbytes, element_size, __len__, resize_
    _getitem, _setitem, _is_shared, _share_memory_, _pickle_storage_type = (
        __getitem__, __setitem__, is_shared, share_memory_, pickle_storage_type)


for method, dtype_name in dict(float="float32", double="float64", half="float16", bfloat16="bfloat16", long="int64",
                               int="int32",
                               short="int16", char="int8", byte="uint8", bool="bool", complex_float="complex64",
                               complex_double="complex128").items():
    setattr(TypedStorage, method, lambda self, dtype=dtypes.BY_NAME[dtype_name]: self._converted(dtype))
    setattr(UntypedStorage, method, lambda self, dtype=dtypes.BY_NAME[dtype_name]:
            TypedStorage(bytes_of(self.owner).astype(dtype.numpy), dtype=dtype))


class StorageType(type):
    """The type of FloatStorage and its like: calling one makes a TypedStorage, and isinstance goes by dtype."""

    def __call__(cls, *args: Any, wrap_storage: Any = None, **kwargs: Any) -> Any:
        if cls.dtype is None:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        head = (f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n"
                " * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)")
        for name in kwargs:
            refuse(RuntimeError, head, f"Keyword argument '{name}' cannot be specified")
        if wrap_storage is None:
            if len(args) > 1:
                refuse(RuntimeError, head, "Too many positional arguments")
            return TypedStorage(*args, dtype=cls.dtype)
        check_wrapped(args, wrap_storage, head)
        return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype)

    dtype: Any = None

    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The elements in a file; see UntypedStorage.from_file."""
        untyped = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=cls.dtype)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, TypedStorage) and value.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


Legacy = StorageType("_LegacyStorage", (TypedStorage,), {"__module__": "torch.storage", "dtype": None})
STORAGE_TYPES: dict[str, Any] = {f"{d.legacy}Storage": StorageType(f"{d.legacy}Storage", (Legacy,),
                                                                   {"dtype": d, "__module__": "torch"})
                                 for d in (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int64,
                                           dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint8, dtypes.bool_,
                                           dtypes.complex64, dtypes.complex128)}
EXTRA_FUNCTIONS.update(STORAGE_TYPES, TypedStorage=TypedStorage, UntypedStorage=UntypedStorage)


@expose(name="storage", plain=False)
def tensor_storage(self: Tensor) -> TypedStorage:
    """The memory of a tensor as elements of its dtype; `untyped_storage` is what remains of storages."""
    _warn_typed_storage_removal(stacklevel=3)
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


def _warn_typed_storage_removal(stacklevel: int = 2) -> None:
    """Warn that typed storages are deprecated: once, or always where that is set."""
    if Warned.always or not Warned.deprecated:
        Warned.deprecated = True
        warnings.warn(DEPRECATED, UserWarning, stacklevel=stacklevel + 1)


def _reset_warn_typed_storage_removal() -> None:
    """Warn again at the next use."""
    Warned.deprecated = False


def _get_always_warn_typed_storage_removal() -> bool:
    return Warned.always


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Choose whether every use of a tensor's typed storage warns, not the first alone."""
    if not isinstance(always_warn, bool):
        raise AssertionError(f"always_warn must be bool, got {type(always_warn).__name__}")
    Warned.always = always_warn


class Warned:
    deprecated = False
    always = False


@expose(plain=False)
def is_shared(self: Tensor) -> bool:
    """Whether other processes can be let into the memory of a tensor."""
    return storage_of(self.array).is_shared()


@expose(plain=False)
def share_memory_(self: Tensor) -> Tensor:
    """Move a tensor to memory that it shares with the processes that it is sent to; tensors over its old memory stay there."""
    if self.is_shared():
        return self
    if self._base is not None:
        raise NotImplementedError("share_memory_ cannot move a view: its base would stay where it is. Call it on the base, "
                                  f"which has shape {tuple(self._base.shape)}, before taking the view")
    if hooks.settle is not None:
        hooks.settle(self)
    memory = bytes_of(owner_of(self.array))
    shared = new_shared(memory.nbytes)
    shared[...] = memory
    moved = self.detach()
    moved.array = np.ndarray(self.array.shape, self.array.dtype, shared,
                             0 if 0 in self.array.shape else offset_of(self.array) * self.array.itemsize, self.array.strides)
    self.data = moved
    return self


@expose
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether a tensor is in pinned memory, which there is none of without an accelerator."""
    return False


@expose(plain=False)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in pinned memory."""
    return _pin_memory(self, device)


def refuse_to_pin(xp: Any, self: Any, device: Any) -> Any:
    raise RuntimeError("Cannot access accelerator device when none is available.")


# Subclasses of Tensor declare what it does to them by its name, also where no memory can be pinned.
_pin_memory = defop(
    "_pin_memory(Tensor self, Device? device=None) -> Tensor",
    kernel=refuse_to_pin,
    batch=families.loop, variants="", out=False,
)
