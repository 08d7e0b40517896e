"""Data pipes over files: their paths, the open files, their contents."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retrograd.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe
from retrograd.utils.data.datapipes.iter.single import IterableWrapperIterDataPipe
from retrograd.utils.data.datapipes.utils.common import get_file_binaries_from_pathnames, get_file_pathnames_from_root


class OfKnownLength(IterDataPipe):
    """A pipe whose length is what the program says."""

    length: int

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(OfKnownLength):
    """The paths of the files in folders, which come from a pipe or are named.

    >>> list(FileListerIterDataPipe(__file__, masks="files.*"))[0].rpartition(".")[0].endswith("files")
    True
    """

    def __init__(self, root: Any = ".", masks: str | list[str] = "", *, recursive: bool = False, abspath: bool = False,
                 non_deterministic: bool = False, length: int = -1) -> None:
        if isinstance(root, str):
            root = [root]
        self.datapipe = root if isinstance(root, IterDataPipe) else IterableWrapperIterDataPipe(root)
        self.masks, self.recursive, self.abspath = masks, recursive, abspath
        self.non_deterministic, self.length = non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for path in self.datapipe:
            yield from get_file_pathnames_from_root(path, self.masks, self.recursive, self.abspath, self.non_deterministic)


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(OfKnownLength):
    """Paths with their open files."""

    def __init__(self, datapipe: Any, mode: str = "r", encoding: str | None = None, length: int = -1) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self) -> Iterator[Any]:
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """What open files hold, whole or in chunks of a size."""

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[Any]:
        for name, stream in self.datapipe:
            while data := stream.read(self.chunk):
                yield name, data
            stream.close()
