"""`load`: objects from the files that `save` and PyTorch write, old ones included."""
from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from retrograd.core.hooks import hooks
from retrograd.serialization.archive import Archive, map_file
from retrograd.serialization.errors import ArchiveError, EmptyFileError, UnpicklingError
from retrograd.serialization.legacy import LegacyFile
from retrograd.serialization.options import options, safe_names
from retrograd.serialization.places import placement
from retrograd.serialization.trusted import trusted_unpickler
from retrograd.serialization.unpickler import SafeUnpickler

FORCE, FORBID = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"     # variables of the environment
UNSAFE = ("In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. "
          "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
          "execution. Do it only if you got the file from a trusted source.")
NOT_ZIP = ("the file is not a zip archive, which is what torch.save has written since PyTorch 1.6, and not one in the older "
           "format either")


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read an object from a path or from a file opened for reading bytes.

    Only tensors, numbers, strings and plain containers are read, unless `weights_only` is False; then the file may run any
    code, so its source must be trusted. `map_location` says where storages go that were saved on another device.

    >>> import os, tempfile, retrograd as torch
    >>> path = os.path.join(tempfile.mkdtemp(), "model.pt")
    >>> torch.save([torch.eye(2)], path)
    >>> load(path)
    [tensor([[1., 0.],
            [0., 1.]])]
    """
    forced, forbidden = [os.environ.get(name, "0").lower() in ("1", "y", "yes", "true") for name in (FORCE, FORBID)]
    if forced and forbidden:
        raise RuntimeError(f"Only one of `{FORCE}` or `{FORBID}` should be set, but both were set.")
    if forced:
        weights_only = True
    elif weights_only is None:
        weights_only = pickle_module is None and not forbidden
        if forbidden:
            warnings.warn(f"Environment variable {FORBID} detected, since the`weights_only` argument was not explicitly passed "
                          "to `torch.load`, forcing weights_only=False.", UserWarning, stacklevel=2)
    elif weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    is_path = isinstance(f, (str, os.PathLike))
    mmap = options.mmap if mmap is None else mmap
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not is_path and not (hasattr(f, "seek") and hasattr(f, "read") and hasattr(f, "tell")):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a file that "
                             "is seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it "
                             "instead.")
    if pickle_load_args and weights_only:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    unknown = set(pickle_load_args) - {"encoding", "errors", "fix_imports", "buffers"}
    if weights_only and unknown:
        raise TypeError(f"Unpickler.__init__() got an unexpected keyword argument {min(unknown)!r}")
    pickle_load_args.setdefault("encoding", "utf-8")

    def start(data: bytes, position: int, load_storage: Callable[[Any], Any], size: int = 0) -> Any:
        if weights_only:
            return SafeUnpickler(data, load_storage, safe_names(), pickle_load_args["encoding"], position, size)
        return trusted_unpickler(data, position, load_storage, pickle_module or pickle, **pickle_load_args)

    with hooks.unrecorded("torch.load"), open(f, "rb") if is_path else nullcontext(f) as file:
        try:
            return read(file, placement(map_location), start, f if mmap else None)
        except UnpicklingError as error:
            if not weights_only or isinstance(error, (ArchiveError, EmptyFileError)):
                raise
            raise UnpicklingError(explained(str(error))) from None


def explained(message: str) -> str:
    """Why a safe reading failed, with what can be done about it."""
    if "was not an allowed global by default" in message:
        text = ("This file can still be loaded, to do so you have two options, do those steps only if you trust the source of "
                f"the checkpoint. \n\t(1) {UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` please check the "
                f"recommended steps in the following error message.\n\tWeightsUnpickler error: {message}")
    elif "is blocked" in message:
        text = f"{UNSAFE}\n {message}"
    else:
        text = (f"{UNSAFE}\n Please file an issue with the following so that we can make `weights_only=True` compatible with "
                f"your use case: WeightsUnpickler error: {message}")
    return f"Weights only load failed. {text}\n\nThe documentation of torch.load says which types are accepted by default."


def read(file: Any, place: Callable[[Any, str], Any], start: Callable[..., Any], mapped_path: Any) -> Any:
    """The object in an open file of either format."""
    beginning = file.tell()
    magic = file.read(4)
    if not magic:
        raise EmptyFileError("Ran out of input: the file is empty")
    if magic == b"PK\x03\x04":
        archive = Archive(file, place, None if mapped_path is None else map_file(mapped_path))
        try:
            unpickler = start(archive.read("data.pkl"), 0, archive.load_storage, archive.file_size)
            return unpickler.load()
        finally:
            archive.close()
    if mapped_path is not None:
        raise RuntimeError(f"mmap can only be used with files saved with `torch.save({mapped_path}, "
                           "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this option in order "
                           "to use mmap.")
    if magic[:1] != b"\x80":
        raise UnpicklingError(f"Unsupported operand {magic[0]}: {NOT_ZIP}")
    file.seek(beginning)
    legacy = LegacyFile(file.read(), place)
    found = legacy.load(start)
    file.seek(beginning + legacy.end)            # another object may follow
    return found
