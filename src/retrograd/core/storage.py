"""Memory: strides and offsets in elements, arrays over the same memory, and the Storage objects that users see.

NOTE [Storages]
A tensor's memory is the owner of its NumPy array's data (the end of the `base` chain). Storage objects are created on
demand, one per owner, and found again while they live.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from ctypes import addressof, c_char
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from retrograd.core.device import CPU, META, parse_device
from retrograd.core.hooks import hooks
from retrograd.core.shared_memory import descriptor_of, new_shared

compiled: Any = None
try:
    from retrograd.core import _native  # type: ignore[attr-defined, unused-ignore]
    compiled = _native
except ImportError:     # not built, or RETROGRAD_PLAIN hides them
    pass

native_strided: Any = None          # compiled form of `strided` below for most geometries
try:
    from retrograd.core import _loops  # type: ignore[attr-defined, unused-ignore]
    native_strided = _loops.kernels["as_strided_default"]
except ImportError:
    pass

ndarray = np.ndarray
one_byte = c_char.from_buffer


class Memory:
    """Owns a range of external memory for an array, so that the array's storage starts at the range's start."""

    def __init__(self, array: ndarray) -> None:
        self.keeps = array
        self.__array_interface__ = {"data": (address(array), not array.flags.writeable), "shape": (extent(array),),
                                    "typestr": "|u1", "version": 3}


def adopt(array: np.ndarray) -> np.ndarray:
    """The same array over a storage of its own that begins at the array's first element."""
    if array.base is None or extent(array) == 0:
        return array
    owner = np.asarray(Memory(array))
    return np.ndarray(array.shape, array.dtype, owner, 0, array.strides)


def address_of(array: Any) -> int:
    """The address of the first element."""
    try:                                  # four times faster, but only for writable contiguous arrays
        return addressof(one_byte(array))
    except (TypeError, ValueError, BufferError):
        return array.__array_interface__["data"][0]


address = address_of if compiled is None else compiled.address


def extent(array: np.ndarray) -> int:
    """The number of bytes from the first element to the end of the last."""
    if array.size == 0:
        return 0
    return sum([(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]) + array.itemsize


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array (or other object) that owns the memory of `array`."""
    while type(array.base) is ndarray:
        array = array.base
    return array


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements; sizes of 0 count as 1, as in PyTorch."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size if size > 1 else 1
    return tuple(reversed(strides))


def element_strides(array: np.ndarray) -> tuple[int, ...]:
    """The strides of `array` in elements."""
    if array.size == 0 and not any(array.strides):
        return contiguous_strides(array.shape)      # NumPy's strides of empty arrays are arbitrary
    item = array.itemsize
    return tuple([s // item for s in array.strides])


strides_of = element_strides if compiled is None else compiled.strides_of


def is_row_major(array: np.ndarray) -> bool:
    """Whether the strides are those of a new array, also along dimensions of size 1."""
    step = array.itemsize
    for n, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if stride != step:
            return False
        step *= n
    return True


def reshaped_array(array: np.ndarray, size: Sequence[int]) -> ndarray | None:
    """A view of `array` in another shape; None where viewability or the strides need the general computation."""
    shape = array.shape
    if 0 in shape or not array.flags.c_contiguous or 1 in shape and not is_row_major(array):
        return None
    try:
        return array.reshape(size)
    except ValueError:
        return None


reshaped = reshaped_array if compiled is None else compiled.reshaped


def offset_of(array: np.ndarray) -> int:
    """The position of the first element in its storage, in elements."""
    base = array.base
    if base is None:
        return 0
    owner = owner_of(array)
    return (address(array) - address(owner)) // array.itemsize


def strided(array: np.ndarray, size: Sequence[int], stride: Sequence[int], offset: int | None = None) -> ndarray:
    """An array over the memory of `array` with the given geometry in elements; checked against the storage's bounds."""
    if native_strided is not None:
        made = native_strided(array, size, stride, offset)
        if made is not None:
            return made
    item = array.itemsize
    if offset is None and array.flags.c_contiguous and array.size and array.dtype.kind != "V" and 0 not in size:
        if (sum([(n - 1) * s for n, s in zip(size, stride, strict=True)]) + 1) * item <= array.nbytes:
            return np.ndarray(tuple(size), array.dtype, array, 0, tuple([s * item for s in stride]))
    owner = owner_of(array)
    start = offset_of(array) if offset is None else offset
    shift = address(array) - address(owner) if offset is None else offset * item       # the owner may start at any address
    count = 1
    for n in size:
        count *= n
    if count:
        last = start + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
        if (last - start + 1) * item + shift > owner.nbytes or start < 0:
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize {item} "
                f"requiring a storage size of {(last + 1) * item} are out of bounds for storage of size {owner.nbytes}")
        if array is owner and array.flags.c_contiguous and array.flags.writeable and array.dtype.kind != "V":
            return np.ndarray(tuple(size), array.dtype, array, shift, tuple([s * item for s in stride]))
    memory = bytes_of(owner)
    place = shift if count else min(shift, owner.nbytes)
    steps = tuple([s * item for s in stride])
    if not count and not any(steps) and item > 1:
        steps = (1,) * len(steps)                   # smaller than an element, so that NumPy does not replace them
    made = np.ndarray(tuple(size), array.dtype, memory, place, steps)
    if not array.flags.writeable:
        made.flags.writeable = False
    return made


def bytes_of(owner: ndarray) -> Any:
    """The whole memory of an owner as a flat array of bytes."""
    if owner.dtype == np.uint8 and owner.ndim == 1 and owner.flags.c_contiguous:
        return owner
    flat = owner if owner.flags.c_contiguous else owner.T if owner.flags.f_contiguous else owner.transpose(
        sorted(range(owner.ndim), key=lambda i: -owner.strides[i]))
    return flat.reshape(-1).view(np.uint8)


def dense_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions from outermost to innermost if the layout is dense without overlap, else None."""
    order = sorted([i for i in range(len(shape)) if shape[i] != 1], key=lambda i: (-strides[i], i))
    expected = 1
    for i in reversed(order):
        if strides[i] != expected:
            return None
        expected *= shape[i]
    return tuple(order)


def is_non_overlapping_and_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    return 0 in shape or dense_order(shape, strides) is not None


def partly_overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two dense arrays share memory without being the same elements in the same order; False for others."""
    if a is b or not a.size or not b.size or owner_of(a) is not owner_of(b):
        return False
    if not (dense_order(a.shape, strides_of(a)) is not None and dense_order(b.shape, strides_of(b)) is not None):
        return False
    if a.size == b.size and address(a) == address(b):
        return a.strides != b.strides
    return address(a) < address(b) + b.nbytes and address(b) < address(a) + a.nbytes


def joint_strides(shape: tuple[int, ...], arrays: Sequence[Any]) -> tuple[int, ...]:
    """Dense strides for the result of an elementwise op: dimensions in the common order of the arrays or, where they
    disagree, in that of the first array in which the dimension is not broadcast."""
    rank = len(shape)
    steps = []
    for array in arrays:
        missing = rank - array.ndim
        steps.append([0] * missing + [0 if n == 1 != shape[missing + i] else s
                                      for i, (n, s) in enumerate(zip(array.shape, array.strides, strict=True))])

    def comes_after(a: int, b: int) -> int:
        for step in steps:
            if step[a] == 0 or step[b] == 0:
                continue
            if step[a] != step[b]:
                return 1 if step[a] > step[b] else -1
            if shape[a] > shape[b]:
                return 1
        return 0

    order = list(range(rank - 1, -1, -1))
    for i in range(1, rank):
        k = i
        for j in range(i - 1, -1, -1):
            comparison = comes_after(order[j], order[k])
            if comparison > 0:
                order[j], order[k] = order[k], order[j]
                k = j
            elif comparison < 0:
                break
    if all([d == rank - 1 - i for i, d in enumerate(order)]):
        return contiguous_strides(shape)
    strides = [0] * rank
    step = 1
    for d in order:
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def empty_strided(shape: Sequence[int], strides: Sequence[int], dtype: Any) -> ndarray:
    """A new uninitialised array with the given strides in elements."""
    if compiled is not None:
        made = compiled.empty_strided(shape, strides, dtype)
        if made is not None:
            return made
    count = 1
    for n in shape:
        count *= n
    if count and tuple(strides) == contiguous_strides(shape):
        return np.empty(shape, dtype)
    size = 0 if count == 0 else 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
    memory = np.empty(size, dtype)
    if native_strided is not None or memory.dtype.kind == "V":          # bfloat16 does not support the buffer protocol
        return strided(memory, shape, strides, 0)
    return np.ndarray(tuple(shape), dtype, memory, 0, tuple([s * memory.itemsize for s in strides]))


class UntypedStorage:
    """The bytes under one or more tensors."""

    __slots__ = ("__weakref__", "filename", "meta", "owner", "parked", "waiting")

    def __init__(self, owner: Any = 0, *, device: Any = None) -> None:
        self.meta = device is not None and parse_device(device).type == "meta"      # a size without data
        self.filename: str | None = None      # name of the shared-memory file
        self.parked: Any = None               # memory of the tensors that do not fit since the storage was resized,
        self.waiting: list[Any] = []          # and their geometries for when they fit again
        # users pass a number of bytes or the bytes, the library passes the array that owns the memory
        if isinstance(owner, int):
            owner = np.zeros(self._checked_size(owner), np.uint8)
        elif not isinstance(owner, ndarray):
            for item in owner:
                if not isinstance(item, int):
                    raise RuntimeError("torch.UntypedStorage(): tried to construct a storage from a sequence "
                                       f"({type(owner).__name__}), but one of the items was of type {type(item).__name__} "
                                       "instead of int")
            owner = np.array(owner, np.int64).astype(np.uint8)
        self.owner = owner

    @staticmethod
    def _checked_size(size: int) -> int:
        if size < 0:
            raise RuntimeError(f"alloc_cpu() seems to have been called with negative number: {size % 2**64}; a storage cannot "
                               f"have {size} bytes")
        return size

    def _check_values(self) -> None:
        if self.meta:
            raise NotImplementedError("Not available for 'meta' device type")

    def data_ptr(self) -> int:
        return address(self.owner) if self.owner.nbytes and not self.meta else 0

    @property
    def _cdata(self) -> int:
        return id(self.owner)

    def nbytes(self) -> int:
        return self.owner.nbytes

    def size(self) -> int:
        return self.owner.nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.owner.nbytes

    def __len__(self) -> int:
        return self.owner.nbytes

    def __getitem__(self, index: Any) -> Any:
        self._check_values()
        if isinstance(index, slice):
            return UntypedStorage(bytes_of(self.owner)[self._checked(index)])
        return int(bytes_of(self.owner)[self._checked(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check_values()
        if not isinstance(value, int):
            raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
        bytes_of(self.owner)[self._checked(index)] = value & 255

    def _checked(self, index: Any) -> Any:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
            return index
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.{type(self).__name__} with {type(index).__name__}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return index

    def __repr__(self) -> str:
        lines = "...\n" if self.meta else "".join([f" {byte}\n" for byte in self.tolist()])
        return f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    device = property(lambda self: META if self.meta else CPU)
    is_cuda = is_sparse = False

    def element_size(self) -> int:
        return 1

    def untyped(self) -> UntypedStorage:
        return self

    def get_device(self) -> None:
        """The device index, None for cpu."""

    def type(self) -> str:
        return "torch.storage.UntypedStorage"

    def new(self) -> UntypedStorage:
        return UntypedStorage(0)

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """A copy on a device; the storage itself if it is already there."""
        if str(device) != "cpu":
            raise RuntimeError(f"storages are in the memory of the cpu, not on {device}")
        return self

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        copies = memo.setdefault("torch", {})
        if self._cdata not in copies:
            copies[self._cdata] = self.clone()
        return copies[self._cdata]

    def byteswap(self, dtype: Any) -> None:
        """Reverse the bytes of every element, in place."""
        memory = bytes_of(self.owner)
        size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        if size > 1:
            memory.reshape(-1, size)[...] = memory.reshape(-1, size)[:, ::-1].copy()

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *,
                    dtype: Any = None) -> UntypedStorage:
        """A copy of the elements in a buffer, converted to native byte order."""
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        if byte_order is None:
            if dtype.itemsize > 1 or dtype.numpy.kind == "b":
                raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
            byte_order = "native"
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        width = dtype.itemsize
        memory = np.frombuffer(buffer, np.uint8)
        if offset < 0 or offset > len(memory) or offset == len(memory) and len(memory):
            raise ValueError(f"offset must be non-negative and no greater than buffer length ({len(memory)}) minus 1, but got "
                             f"{offset}")
        rest = len(memory) - offset
        if count < 0:
            if rest % width:
                raise ValueError(f"buffer size ({len(memory)}) must be a multiple of element size ({width})")
            count = rest // width
        if count * width > rest:
            raise ValueError(f"buffer has only {rest // width} elements after offset {offset}, but specified a size of {count}")
        made = cls(memory[offset:offset + count * width].copy())
        if byte_order != "native" and byte_order != sys.byteorder:
            made.byteswap(dtype)
        return made

    def cpu(self) -> UntypedStorage:
        if self.meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self

    def clone(self) -> UntypedStorage:
        if self.meta:
            made = UntypedStorage(0, device="meta")
            made.owner = self.owner
            return made
        return UntypedStorage(bytes_of(self.owner).copy())

    def fill_(self, value: int) -> UntypedStorage:
        if not self.meta:
            bytes_of(self.owner)[...] = value
        return self

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """Raise: pinning memory needs an accelerator."""
        if self.meta:
            raise TypeError("cannot pin 'torch.storage.UntypedStorage' only CPU memory can be pinned")
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def copy_(self, source: Any, non_blocking: Any = None) -> UntypedStorage:
        """Copy the bytes of a storage of the same size."""
        given = source.untyped()
        if self.meta:
            return self
        if given.meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if len(given) != len(self):
            raise RuntimeError(f"size does not match, self was {len(self)} bytes but src was {len(given)} bytes")
        bytes_of(self.owner)[...] = bytes_of(given.owner)
        return self

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A memory-mapped file; with `shared` writes reach the file, which is created or extended."""
        path = os.fspath(filename)
        try:
            with open(path, ("r+b" if os.path.exists(path) else "w+b") if shared else "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < nbytes and not shared:
                    raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>")
                if size < nbytes:
                    file.truncate(nbytes)
                mapped = np.memmap(file, np.uint8, "r+" if shared else "c", 0, (nbytes,)) if nbytes else np.empty(0, np.uint8)
        except OSError as error:
            mode = "read-write" if shared else "read-only"
            raise RuntimeError(f"unable to open file <{path}> in {mode} mode: {error.strerror} ({error.errno})") from None
        made = cls(np.asarray(mapped))
        made.filename = path if shared else None
        return made

    def _fix_weakref(self) -> None:
        """No-op: weak references to a live storage are valid."""

    def resizable(self) -> bool:
        return self.meta or self.owner.base is None

    def resize_(self, size: int) -> UntypedStorage:
        """Resize the storage; tensors on it move with it, and read zeros while they do not fit."""
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        if self._checked_size(size) != len(self):
            hooks.resize_storage(self, size)
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        return False

    def is_shared(self) -> bool:
        return descriptor_of(self.owner) is not None

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        return cls(new_shared(size))

    def share_memory_(self) -> UntypedStorage:
        """Move the storage, and the tensors on it, to shared memory."""
        if self.meta:
            raise RuntimeError("_share_fd_: only available on CPU")
        if not self.is_shared():
            hooks.resize_storage(self, len(self), new_shared(len(self)))
        return self

    def tolist(self) -> list[int]:
        self._check_values()
        return bytes_of(self.owner).tolist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self.owner is other.owner

    def __hash__(self) -> int:
        return id(self.owner)


STORAGES: WeakValueDictionary[int, UntypedStorage] = WeakValueDictionary()


def storage_of(array: np.ndarray) -> UntypedStorage:
    """The storage of `array`, the same object for all arrays over the same memory."""
    owner = owner_of(array)
    found = STORAGES.get(id(owner))
    if found is None or (found.owner is not owner and found.parked is not owner):
        found = STORAGES[id(owner)] = UntypedStorage(owner)
    return found
