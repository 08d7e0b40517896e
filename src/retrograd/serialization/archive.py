"""Zip archives of `save`: their entries, checked before anything is allocated, and the storages in them."""
from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from retrograd.core import dtypes
from retrograd.core.storage import UntypedStorage
from retrograd.serialization.errors import ArchiveError, UnpicklingError, shown
from retrograd.serialization.options import LoadEndianness, checked_order, options
from retrograd.serialization.unpickler import ForeignError
from retrograd.storage import STORAGE_TYPES, TypedStorage

ALIGNMENT = 64
MAX_RATIO = 16              # how much larger the entries may be than the file; `save` does not compress them
CHUNK = 1 << 22
DAMAGED = "PytorchStreamReader failed reading zip archive"


class Archive:
    """An archive that is open for reading; its tensors lie in memory, or in the file if that is mapped."""

    def __init__(self, file: Any, place: Callable[[Any, str], Any], mapped: Any = None) -> None:
        self.file, self.place, self.mapped = file, place, mapped
        file.seek(0, os.SEEK_END)
        self.file_size = file.tell()
        file.seek(0)
        try:
            self.zip = ZipFile(file)
            entries = self.zip.infolist()
        except Exception as error:          # zipfile raises a dozen types for damaged files
            reason = str(error).replace("File is not a zip file", (
                "failed finding central directory. The file may be cut off, or damaged on its way"))
            raise ArchiveError(f"{DAMAGED}: {shown(reason)}") from error
        self.entries = {entry.filename: entry for entry in entries}
        if len(self.entries) != len(entries):
            raise ArchiveError(f"{DAMAGED}: two entries have the same name")
        if sum([entry.file_size for entry in entries]) > MAX_RATIO * self.file_size + CHUNK:
            raise ArchiveError(f"{DAMAGED}: a file of {self.file_size} bytes claims to hold much more than that")
        pickles = [name for name in self.entries if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise ArchiveError("PytorchStreamReader failed locating file data.pkl: file not found. The zip archive was not "
                               "written by torch.save")
        self.folder = pickles[0].removesuffix("data.pkl")
        if self.folder + "constants.pkl" in self.entries:
            raise ArchiveError("Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``; and there "
                               "is no torch.jit.load here")
        self.swap = self.byte_order() != sys.byteorder
        self.storages: dict[str, Any] = {}

    def close(self) -> None:
        self.zip.close()

    def byte_order(self) -> str:
        if self.folder + "byteorder" in self.entries:
            return checked_order(self.read("byteorder", 16))
        return {None: "little", LoadEndianness.LITTLE: "little", LoadEndianness.BIG: "big",
                LoadEndianness.NATIVE: sys.byteorder}[options.endianness]

    def read(self, name: str, limit: int | None = None) -> bytes:
        """The content of an entry."""
        entry = self.entry(name)
        if limit is not None and entry.file_size > limit:
            raise ArchiveError(f"{DAMAGED}: the entry {name} has {entry.file_size} bytes")
        return self.read_into(entry).tobytes()

    def entry(self, name: str) -> ZipInfo:
        found = self.entries.get(self.folder + name)
        if found is None:
            raise ArchiveError(f"PytorchStreamReader failed locating file {shown(name)}: file not found")
        if found.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ArchiveError(f"{DAMAGED}: the entry {shown(name)} is compressed in an unknown way")
        return found

    def read_into(self, entry: ZipInfo) -> Any:
        memory: Any = np.empty(entry.file_size, np.uint8)
        view, done = memoryview(memory), 0
        try:
            with self.zip.open(entry) as opened:
                stream: Any = opened
                while done < len(view):
                    found = stream.readinto(view[done:done + CHUNK])
                    if not found:
                        break
                    done += found
                end = not stream.read(1)          # the checksum is compared at the end
        except Exception as error:
            raise ArchiveError(f"{DAMAGED}: {shown(str(error))}") from error
        if done != len(view) or not end:
            raise ArchiveError(f"{DAMAGED}: an entry has another size than announced")
        return memory

    def load_storage(self, saved_id: Any) -> Any:
        """The storage that a pickle refers to."""
        if type(saved_id) is not tuple or len(saved_id) != 5:
            raise UnpicklingError("a storage needs a type, a key, a location and a length")
        kind, key, location, count = saved_id[1], text(saved_id[2]), text(saved_id[3]), saved_id[4]
        dtype = dtype_of(kind)
        if type(count) is not int or count < 0:
            raise UnpicklingError("the length of a storage must be a non-negative int")
        found = self.storages.get(key)
        if found is None:
            entry = self.entry(f"data/{key}")
            if entry.file_size < count * dtype.itemsize:
                raise UnpicklingError(f"storage {shown(key)} has {entry.file_size} bytes, but {count * dtype.itemsize} are "
                                      "expected")
            memory = self.map_entry(entry) if self.mapped is not None else None
            if options.skip_data:
                memory = np.zeros(entry.file_size, np.uint8)
            if memory is None:
                memory = self.read_into(entry)
            if self.swap and dtype.itemsize > 1:
                memory = swapped(memory, dtype)
            found = self.storages[key] = put(self.place, UntypedStorage(memory), location)
        return found if kind is UntypedStorage else TypedStorage(wrap_storage=found, dtype=dtype)

    def start_of(self, entry: ZipInfo) -> int:
        """Where in the file the bytes of an entry begin."""
        try:
            with self.zip.open(entry) as stream:
                start: int = stream._orig_compress_start                    # type: ignore[attr-defined]
        except Exception as error:
            raise ArchiveError(f"{DAMAGED}: {shown(str(error))}") from error
        return start

    def map_entry(self, entry: ZipInfo) -> Any:
        """The bytes of an entry in the mapped file; None if they cannot be used there."""
        if entry.compress_type != ZIP_STORED or not entry.file_size:
            return None
        start = self.start_of(entry)
        if start % ALIGNMENT or start + entry.file_size > self.file_size:
            return None
        return np.frombuffer(self.mapped, np.uint8, entry.file_size, start)


def map_file(path: Any) -> Any:
    """A file in memory, as the settings say."""
    with open(path, "r+b" if options.mmap_flags == mmap.MAP_SHARED else "rb") as file:
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        return mmap.mmap(file.fileno(), 0, flags=options.mmap_flags, prot=protection)


def put(place: Callable[[Any, str], Any], stored: UntypedStorage, location: str) -> Any:
    """Let `map_location` decide about a storage; its errors are the user's."""
    try:
        result = place(stored, location)
    except UnpicklingError:
        raise
    except Exception as error:
        raise ForeignError(error) from None
    if not isinstance(result, (TypedStorage, UntypedStorage)):
        raise ForeignError(TypeError(f"map_location must return a storage or None, not {type(result).__name__}"))
    return result.untyped()


def text(value: Any) -> str:
    """A string, which Python 2 wrote as bytes."""
    if type(value) is bytes:
        return value.decode("latin1")
    if type(value) is not str:
        raise UnpicklingError(f"the key and the location of a storage must be strings, not {type(value).__name__}")
    return value


def dtype_of(kind: Any) -> Any:
    """The dtype of a storage class."""
    if kind is UntypedStorage:
        return dtypes.uint8
    if any([kind is known for known in STORAGE_TYPES.values()]):
        return kind.dtype
    raise UnpicklingError(f"{shown(getattr(kind, '__name__', None))} is not a type of storage")


def swapped(memory: Any, dtype: Any) -> Any:
    """The same elements in the other byte order."""
    item = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if memory.nbytes % item:
        raise UnpicklingError("a storage does not hold a whole number of elements")
    return np.ascontiguousarray(memory.reshape(-1, item)[:, ::-1]).reshape(-1)
