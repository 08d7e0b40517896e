"""Names of `torch.serialization` that few programs use: the kinds of storages, checks of devices and versions."""
from __future__ import annotations

import shutil
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from tempfile import mkdtemp as make_folder
from typing import Any

from retrograd.serialization.places import default_restore_location
from retrograd.storage import STORAGE_TYPES, TypedStorage, UntypedStorage


class SourceChangeWarning(Warning):
    """A saved module's source differs from the one that is here."""


class StorageType:
    """What a storage class is, for annotations."""


@contextmanager
def mkdtemp() -> Generator[str, None, None]:
    """A folder that is there for the length of a scope.

    >>> import os
    >>> with mkdtemp() as folder:
    ...     os.path.isdir(folder)
    True
    """
    path = make_folder()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def check_module_version_greater_or_equal(module: Any, req_version_tuple: tuple[Any, ...],
                                          error_if_malformed: bool = True) -> bool:
    """Whether a module's version is at least the given one.

    >>> import numpy
    >>> check_module_version_greater_or_equal(numpy, (1, 0, 0))
    True
    """
    try:
        parts = module.__version__.split(".")
        found = tuple(type(wanted)(part) for wanted, part in zip(req_version_tuple, parts, strict=False))
    except Exception as error:
        message = (f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared with "
                   f"tuple {req_version_tuple!s}")
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(f"{message}, but continuing assuming that requirement is met", stacklevel=2)
        return True
    return found >= tuple(req_version_tuple)


def validate_cuda_device(location: str) -> Any:
    """Refuse a location, since there is no CUDA device."""
    return default_restore_location(UntypedStorage(0), "cuda")


def validate_hpu_device(location: str) -> Any:
    """Refuse a location, since there is no HPU."""
    return default_restore_location(UntypedStorage(0), "hpu")


def normalize_storage_type(storage_type: Any) -> Any:
    """The storage class of this package that has the name of another one.

    >>> import retrograd as torch
    >>> normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
    True
    """
    return {**STORAGE_TYPES, "TypedStorage": TypedStorage, "UntypedStorage": UntypedStorage}[storage_type.__name__]


def storage_to_tensor_type(storage: Any) -> Any:
    """The name of the tensors that lie in a storage.

    >>> import retrograd as torch
    >>> storage_to_tensor_type(torch.FloatStorage(1))
    'torch.FloatTensor'
    """
    return f"torch.{storage.pickle_storage_type().removesuffix('Storage')}Tensor"


def _is_zipfile(f: Any) -> bool:
    """Whether a file has, where it is read next, the first bytes of a zip archive.

    >>> import io
    >>> _is_zipfile(io.BytesIO(b"PK"))
    False
    """
    start = f.tell()
    found: bool = f.read(4) == b"PK\x03\x04"
    f.seek(start)
    return found
