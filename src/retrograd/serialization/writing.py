"""`save`: writes beside the file that is there and puts the new one in its place when it is complete."""
from __future__ import annotations

import io
import os
import pickle
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo
from zlib import crc32

from retrograd.core.hooks import hooks
from retrograd.core.storage import bytes_of
from retrograd.serialization.legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from retrograd.serialization.options import options
from retrograd.serialization.pickler import Pickler

DEFAULT_PROTOCOL = 2


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
         _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Write `obj` to a path or to a file opened for writing bytes; a file at the path stays as it is if that fails.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> save({"weight": torch.ones(2), "step": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if options.skip_data and not _use_new_zipfile_serialization:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    pickled = io.BytesIO()
    pickler = Pickler(pickled, pickle_protocol, legacy=not _use_new_zipfile_serialization)
    pickler.dump(obj)          # before the file is opened: what cannot be saved must not leave half a file
    name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if is_path else ""
    with hooks.unrecorded("torch.save"), replacing(os.fspath(f)) if is_path else taking_back(f) as file:
        if _use_new_zipfile_serialization:
            write_archive(file, name or "archive", pickled.getvalue(), pickler.storages, not _disable_byteorder_record)
        else:
            write_legacy(file, pickled.getvalue(), pickler, pickle_protocol)


# ---- files
@contextmanager
def replacing(path: str) -> Generator[Any, None, None]:
    """A new file that takes the place of `path` at the end of the block, unless that raises."""
    target = os.path.realpath(path)          # through links, which stay
    folder = os.path.dirname(target)
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:     # a device or a pipe cannot be replaced
            yield file
        return
    draft = os.path.join(folder, f".{os.path.basename(target)[:200]}.{token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            if os.path.exists(target):
                os.chmod(draft, stat.S_IMODE(os.stat(target).st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        if os.path.exists(draft):
            os.unlink(draft)
        raise


@contextmanager
def taking_back(file: Any) -> Generator[Any, None, None]:
    """A file of the caller's; what was written is cut off again if the block raises, where the file can do that."""
    try:
        start = file.tell()
    except Exception:                        # something that can only be written to
        start = None
    try:
        yield file
    except BaseException:
        if start is not None:
            try:
                file.seek(start)
                file.truncate()
            except Exception:                # the first error is the one to report
                pass
        raise


# ---- formats
def write_archive(file: Any, name: str, pickled: bytes, storages: list[Any], byteorder: bool) -> None:
    """The zip archive of PyTorch 1.6 and later."""
    with ZipFile(file, "w", ZIP_STORED) as archive:
        def write(entry: str, data: Any) -> None:
            write_aligned(archive, f"{name}/{entry}", data)
        write("data.pkl", pickled)
        write(".format_version", b"1")
        write(".storage_alignment", str(options.storage_alignment).encode())
        if byteorder:
            write("byteorder", b"little")
        for key, owner in enumerate(storages):
            write(f"data/{key}", bytes(owner.nbytes) if options.skip_data else little_endian(owner))
        write("version", b"3\n")
        write(".data/serialization_id", identity(archive))


def identity(archive: ZipFile) -> bytes:
    """A number for the content of an archive: twenty digits for the names of its entries and twenty for their checksums."""
    names, content = 0, 0
    for entry in archive.infolist():
        names = (names * 31 + crc32(entry.filename.partition("/")[2].encode())) % (1 << 64)
        content = (content * 31 + entry.CRC) % (1 << 64)
    return f"{names:020d}{content:020d}".encode()


def write_aligned(archive: ZipFile, name: str, data: Any) -> None:
    """Write an entry whose data begin at a multiple of the storage alignment, so that they can be mapped into memory."""
    info = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    assert archive.fp is not None
    start = archive.fp.tell() + 30 + len(name.encode())
    # an extra field "FB" of the header takes up the rest, as in PyTorch's files; the field itself needs four bytes
    padding = -(start + 4) % options.storage_alignment
    info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    archive.writestr(info, data)


def write_legacy(file: Any, pickled: bytes, pickler: Pickler, protocol: int) -> None:
    """The format before PyTorch 1.6: pickles in a row, then the storages, each with its number of elements before it."""
    info = {"protocol_version": PROTOCOL_VERSION, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, info):
        pickle.dump(part, file, protocol=protocol)
    file.write(pickled)
    keys = sorted(map(str, range(len(pickler.storages))))
    pickle.dump(keys, file, protocol=protocol)
    for key in keys:
        owner = pickler.storages[int(key)]
        file.write((owner.nbytes // pickler.item_sizes[int(key)]).to_bytes(8, "little"))
        file.write(little_endian(owner))


def little_endian(owner: Any) -> Any:
    """The bytes of an array as they stand in files."""
    return memoryview(bytes_of(owner if sys.byteorder == "little" else owner.byteswap()))
