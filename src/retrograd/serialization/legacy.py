"""Files that PyTorch wrote before version 1.6: five pickles in a row, then the bytes of the storages.

The storages come last, but tensors must be checked against their data (indices, bools). So the object's pickle is read twice:
first only for the storages that it names, which are then filled, and then for good.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.core.storage import UntypedStorage, bytes_of
from retrograd.serialization import allowlist
from retrograd.serialization.archive import dtype_of, put, swapped, text
from retrograd.serialization.errors import ArchiveError, UnpicklingError, shown
from retrograd.serialization.unpickler import SafeUnpickler
from retrograd.storage import STORAGE_TYPES, TypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


class StorageFinder(SafeUnpickler):
    """Goes through a pickle without making objects, but for the storages that it names."""

    def load_global(self, module: str, name: str) -> None:
        found = allowlist.find_allowed(f"{module}.{name}")
        self.stack.append(found if found in (UntypedStorage, *STORAGE_TYPES.values()) else None)

    def load_reduce(self) -> None:
        del self.stack[-2:]
        self.stack.append(None)

    load_new = load_reduce

    def load_build(self) -> None:
        self.stack.pop()

    load_append = load_build

    def load_appends(self) -> None:
        self.pop_mark()

    load_add_items = load_set_items = load_appends

    def load_set_item(self) -> None:
        del self.stack[-2:]

    def load_persistent(self) -> None:
        self.stack.append(self.load_storage(self.stack.pop()))


class LegacyFile:
    """A file in the old format."""

    def __init__(self, data: bytes, place: Callable[[Any, str], Any]) -> None:
        self.data, self.place = data, place
        self.storages: dict[str, TypedStorage] = {}
        self.memories: dict[str, Any] = {}
        self.allocated = 0
        self.end = len(data)

    def load(self, start: Callable[[bytes, int, Callable[[Any], Any]], Any]) -> Any:
        """The object in the file; `start` makes the unpickler, which has `load` and `position`."""
        unpickler = start(self.data, 0, self.load_storage)
        if self.load_plain(unpickler, int) != MAGIC_NUMBER:
            raise ArchiveError("Invalid magic number; corrupt file?")
        version = self.load_plain(unpickler, int)
        if version != PROTOCOL_VERSION:
            raise ArchiveError(f"Invalid protocol version: {version}")
        info = self.load_plain(unpickler, dict)
        finder = StorageFinder(self.data, self.load_storage, {}, position=unpickler.position)
        finder.load()
        after = start(self.data, finder.position, self.load_storage)
        keys = self.load_plain(after, list)
        self.fill(keys, after.position, info.get("little_endian") is not False)
        return unpickler.load()

    def load_plain(self, unpickler: Any, kind: type) -> Any:
        found = unpickler.load()
        if type(found) is not kind:
            raise ArchiveError("Invalid magic number; corrupt file?")
        return found

    def load_storage(self, saved_id: Any) -> Any:
        """The storage that the pickle refers to, still without its data."""
        if type(saved_id) is tuple and len(saved_id) > 1 and saved_id[0] in ("module", b"module"):
            return saved_id[1]              # a class with its source code, which only trusted files have
        if type(saved_id) is not tuple or len(saved_id) != 6:
            raise UnpicklingError("a storage needs a type, a key, a location, a length and the data of its view")
        kind, key, location, count, view = saved_id[1], text(saved_id[2]), text(saved_id[3]), saved_id[4], saved_id[5]
        dtype = dtype_of(kind)
        if key not in self.storages:
            if type(count) is not int or not 0 <= count * dtype.itemsize <= len(self.data) - self.allocated:
                raise UnpicklingError(f"storage {shown(key)} claims more bytes than the file has")
            self.allocated += count * dtype.itemsize
            memory = self.memories[key] = np.zeros(count * dtype.itemsize, np.uint8)
            stored = put(self.place, UntypedStorage(memory), location)
            self.storages[key] = TypedStorage(wrap_storage=stored, dtype=dtype)
        root = self.storages[key]
        return root if view is None else self.view_of(root, view, kind)

    def view_of(self, root: TypedStorage, view: Any, kind: Any) -> Any:
        """A part of a storage, which only PyTorch 0.1 wrote."""
        if type(view) is not tuple or len(view) != 3 or any([type(n) is not int or n < 0 for n in view[1:]]):
            raise UnpicklingError("the view of a storage needs a key, an offset and a length")
        key, item = "view " + text(view[0]), root.dtype.itemsize
        if key not in self.storages:
            memory = bytes_of(root.untyped().owner)
            if (view[1] + view[2]) * item > memory.nbytes:
                raise UnpicklingError("the view of a storage lies outside of it")
            part = UntypedStorage(memory[view[1] * item:(view[1] + view[2]) * item])
            self.storages[key] = TypedStorage(wrap_storage=part, dtype=dtype_of(kind))
        return self.storages[key]

    def fill(self, keys: list[Any], position: int, little: bool) -> None:
        """Read the data of the storages, in the order of their keys."""
        waiting = dict(self.memories)
        for key in keys:
            name = text(key)
            memory = waiting.pop(name, None)
            if memory is None:
                raise UnpicklingError(f"storage key {shown(name)} not found in deserialized_objects")
            dtype = self.storages[name].dtype
            count = int.from_bytes(self.data[position:position + 8], "little", signed=True)
            position += 8
            short = position + memory.nbytes - len(self.data)
            if count * dtype.itemsize == memory.nbytes and short > 0:
                raise ArchiveError(f"unexpected EOF, expected {short} more bytes. The file might be corrupted.")
            if count * dtype.itemsize != memory.nbytes:
                raise ArchiveError(f"storage has wrong byte size: expected {memory.nbytes // dtype.itemsize} elements, got "
                                   f"{count}")
            memory[:] = np.frombuffer(self.data, np.uint8, memory.nbytes, position)
            if little != (sys.byteorder == "little") and dtype.itemsize > 1:
                memory[:] = swapped(memory, dtype)
            position += memory.nbytes
            if self.storages[name].untyped().owner is not memory:
                bytes_of(self.storages[name].untyped().owner)[:] = memory
        self.end = position
        if waiting:
            raise ArchiveError(f"the file has no data for storage {shown(next(iter(waiting)))}")
