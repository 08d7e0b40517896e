"""The entries of an archive by name: what PyTorch has as `torch._C.PyTorchFileReader`."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from retrograd.core.storage import UntypedStorage
from retrograd.core.tensor import Tensor, new_tensor
from retrograd.serialization.archive import Archive


class PyTorchFileReader:
    """Reads the entries of a file that `save` wrote, given its path or the file opened for reading bytes.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> reader = PyTorchFileReader(file)
    >>> reader.has_record("data/0"), reader.get_record("version")
    (True, b'3\\n')
    >>> reader.get_storage_from_record("data/0", 2, torch.float32)
    tensor([1., 1.])
    """

    def __init__(self, name_or_buffer: Any) -> None:
        if isinstance(name_or_buffer, (str, os.PathLike)):
            name_or_buffer = open(name_or_buffer, "rb")
            self.opened: Any = name_or_buffer
        else:
            self.opened = None
        try:
            self.archive = Archive(name_or_buffer, lambda stored, location: stored)
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        if self.opened is not None:
            self.opened.close()

    def __del__(self) -> None:
        self.close()

    def get_all_records(self) -> list[str]:
        """The names of all entries."""
        return [name.removeprefix(self.archive.folder) for name in self.archive.entries]

    def has_record(self, name: str) -> bool:
        return self.archive.folder + name in self.archive.entries

    def get_record(self, name: str) -> bytes:
        """The content of an entry."""
        return self.archive.read(name)

    def get_record_offset(self, name: str) -> int:
        """Where in the file the content of an entry begins."""
        return self.archive.start_of(self.archive.entry(name))

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """The content of an entry as a tensor of `numel` elements."""
        memory = self.archive.read_into(self.archive.entry(name))
        return new_tensor(np.frombuffer(UntypedStorage(memory).owner, dtype.numpy, numel))

    def serialization_id(self) -> str:
        """A number for the content of the archive."""
        return self.archive.read(".data/serialization_id").decode() if self.has_record(".data/serialization_id") else ""
