"""`save` and `load`: objects with tensors in files that PyTorch can read, and the files that PyTorch writes.

A file is a zip archive: `data.pkl` is a pickle of the object in which the memory of tensors is named by number, `data/N`
that memory as it is, little-endian. Tensors that share memory share it again after loading.
"""
from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from retrograd._archive_pickle import Pickler, Unpickler
from retrograd.core.storage import bytes_of
from retrograd.storage import UntypedStorage

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

DEFAULT_PROTOCOL = 2
ALIGNMENT = 64


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
         _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Write `obj` to a path or to a file opened for writing bytes.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> save({"weight": torch.ones(2), "step": 3}, file)
    >>> _ = file.seek(0)
    >>> load(file)
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    if not _use_new_zipfile_serialization:
        raise NotImplementedError("only the zip format is written; PyTorch 1.6 and later read it")
    if pickle_protocol != DEFAULT_PROTOCOL:
        raise NotImplementedError(f"only pickle protocol {DEFAULT_PROTOCOL} is written, not {pickle_protocol}")
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    pickled = io.BytesIO()
    pickler = Pickler(pickled)
    pickler.dump(obj)          # before the file is opened: what cannot be saved must not leave half a file
    name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if is_path else "archive"
    with open(f, "wb") if is_path else nullcontext(f) as file, ZipFile(file, "w", ZIP_STORED) as archive:
        def write(entry: str, data: Any) -> None:
            write_aligned(archive, f"{name or 'archive'}/{entry}", data)
        write("data.pkl", pickled.getvalue())
        write(".format_version", b"1")
        write(".storage_alignment", str(ALIGNMENT).encode())
        if not _disable_byteorder_record:
            write("byteorder", b"little")
        for key, owner in enumerate(pickler.storages):
            write(f"data/{key}", little_endian(owner))
        write("version", b"3\n")


def write_aligned(archive: ZipFile, name: str, data: Any) -> None:
    """Write an entry whose data begin at a multiple of ALIGNMENT, so that they can be mapped into memory."""
    info = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    assert archive.fp is not None
    start = archive.fp.tell() + 30 + len(name.encode())
    # an extra field "FB" of the header takes up the rest, as in PyTorch's files; the field itself needs four bytes
    padding = -(start + 4) % ALIGNMENT
    info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    archive.writestr(info, data)


def little_endian(owner: Any) -> bytes:
    memory = owner if sys.byteorder == "little" else owner.byteswap()
    return bytes_of(memory).tobytes()


# ---- reading
def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read an object from a path or from a file opened for reading bytes.

    Only tensors, numbers, strings and plain containers are read, unless `weights_only` is False; then the file may run any
    code, so its source must be trusted. `map_location` says where storages go that were saved on another device.

    >>> import os, tempfile, retrograd as torch
    >>> path = os.path.join(tempfile.mkdtemp(), "model.pt")
    >>> save([torch.eye(2)], path)
    >>> load(path)
    [tensor([[1., 0.],
            [0., 1.]])]
    """
    if weights_only is None:
        weights_only = pickle_module is None
    elif weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "seek"):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a file that "
                             "is seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it "
                             "instead.")
    with open(f, "rb") if is_path else nullcontext(f) as file:
        try:
            archive = ZipFile(file)
        except BadZipFile as error:
            raise pickle.UnpicklingError("the file is not a zip archive, which is what torch.save has written since PyTorch "
                                         "1.6; let PyTorch load an older file and save it again") from error
        with archive:
            return Reader(archive, map_location).read(weights_only, **pickle_load_args)


class Reader:
    """Reads one archive."""

    def __init__(self, archive: ZipFile, map_location: Any) -> None:
        self.archive, self.place = archive, placement(map_location)
        pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise pickle.UnpicklingError("the zip archive has no data.pkl: it was not written by torch.save")
        if pickles[0].removesuffix("data.pkl") + "constants.pkl" in archive.namelist():
            raise RuntimeError("the file is a TorchScript archive, which cannot be loaded: there is no torch.jit")
        self.folder = pickles[0].removesuffix("data.pkl")
        self.swap = self.folder + "byteorder" in archive.namelist() and (
            archive.read(self.folder + "byteorder").decode() != sys.byteorder)
        self.storages: dict[str, UntypedStorage] = {}

    def read(self, weights_only: bool, encoding: str = "utf-8") -> Any:
        file = io.BytesIO(self.archive.read(self.folder + "data.pkl"))
        try:
            return Unpickler(file, self.storage_of, weights_only, SAFE, encoding).load()
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(
                "Weights only load failed. This file can still be loaded, to do so you have two options, do those steps only "
                "if you trust the source of the checkpoint. \n\t(1) Re-running `torch.load` with `weights_only` set to `False` "
                "will likely succeed, but it can result in arbitrary code execution. Do it only if you got the file from a "
                "trusted source.\n\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in "
                f"the following error message.\n\tWeightsUnpickler error: {error}") from None

    def storage_of(self, key: str, location: str, dtype: Any, nbytes: int) -> UntypedStorage:
        found = self.storages.get(key)
        if found is None:
            memory = np.frombuffer(self.archive.read(f"{self.folder}data/{key}"), np.uint8).copy()
            if memory.nbytes < nbytes:
                raise pickle.UnpicklingError(f"storage {key} has {memory.nbytes} bytes, but {nbytes} are expected")
            if self.swap and dtype.itemsize > 1:
                item = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
                memory = np.ascontiguousarray(memory.reshape(-1, item)[:, ::-1]).reshape(-1)
            found = self.storages[key] = self.place(UntypedStorage(memory), location)
        return found


def placement(map_location: Any) -> Callable[[UntypedStorage, str], UntypedStorage]:
    """What `map_location` means for one storage that was saved on `location`."""
    def here(stored: UntypedStorage, location: str) -> UntypedStorage:
        if location != "cpu":
            kind = location.partition(":")[0]
            raise RuntimeError(f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() "
                               "is False. If you are running on a CPU-only machine, please use torch.load with "
                               "map_location=torch.device('cpu') to map your storages to the CPU.")
        return stored

    if map_location is None:
        return here
    if isinstance(map_location, dict):
        return lambda stored, location: here(stored, str(map_location.get(location, location)))
    if callable(map_location):
        def chosen(stored: UntypedStorage, location: str) -> UntypedStorage:
            result = map_location(stored, location)
            return here(stored, location) if result is None else result.untyped()
        return chosen
    return lambda stored, location: here(stored, str(map_location))


# ---- what the user declares safe
SAFE: dict[tuple[str, str], Any] = {}


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files read with `weights_only` name these classes and functions; a pair (object, "module.name") renames one.

    >>> add_safe_globals([])
    """
    for entry in safe_globals:
        obj, name = entry if isinstance(entry, tuple) else (entry, f"{entry.__module__}.{entry.__qualname__}")
        module, _, last = name.rpartition(".")
        SAFE[module, last] = obj


def get_safe_globals() -> list[Any]:
    """What was declared safe.

    >>> get_safe_globals()
    []
    """
    return list(SAFE.values())


def clear_safe_globals() -> None:
    """Forget all that was declared safe.

    >>> clear_safe_globals()
    """
    SAFE.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Generator[None, None, None]:
    """`add_safe_globals` for the length of a scope.

    >>> with safe_globals([]): pass
    """
    before = dict(SAFE)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        SAFE.clear()
        SAFE.update(before)
