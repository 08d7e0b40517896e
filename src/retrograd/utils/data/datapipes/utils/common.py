"""Paths that match masks, and open files that are closed when unused."""
from __future__ import annotations

import fnmatch
import os
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root", "match_masks"]


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name matches one of the masks; without masks all do.

    >>> match_masks("a.txt", ["*.csv", "a*"])
    True
    """
    return not masks or any([fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks)])


def get_file_pathnames_from_root(root: str, masks: str | list[str], recursive: bool = False, abspath: bool = False,
                                 non_deterministic: bool = False) -> Iterator[str]:
    """The files of a folder whose names match, in the order of their names; a file as root is the only one."""
    def fail(error: OSError) -> None:
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=3)
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for folder, inner, files in os.walk(root, onerror=fail):
        where = os.path.abspath(folder) if abspath else folder
        if not non_deterministic:
            files.sort()
            inner.sort()
        for name in files:
            if match_masks(name, masks):
                yield os.path.join(where, name)
        if not recursive:
            return


def get_file_binaries_from_pathnames(pathnames: Iterable[str], mode: str,
                                     encoding: str | None = None) -> Iterator[tuple[str, StreamWrapper]]:
    """Paths with their files open; `b` and `t` are short for reading bytes and text."""
    mode = {"b": "rb", "t": "rt"}.get(mode, mode)
    for path in [pathnames] if isinstance(pathnames, str) else pathnames:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, mode, encoding=encoding))


class StreamWrapper:
    """An open file that is closed when its last reference is gone.

    >>> import io
    >>> stream = StreamWrapper(io.StringIO("text"))
    >>> stream.read()
    'text'
    """

    session_streams: dict[Any, int] = {}
    debug_unclosed_streams = False

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj, self.parent_stream, self.name, self.closed = file_obj, parent_stream, name, False
        self.child_counter, self.close_on_last_child = 0, False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close every such file in nested lists, tuples and dicts."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, (list, tuple, dict)):
            for inner in v.values() if isinstance(v, dict) else v:
                cls.close_streams(inner, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file, and the archive that it lies in once no other file of it is open."""
        if self.closed:
            return
        self.closed = True
        if self.parent_stream is not None:
            self.parent_stream.child_counter -= 1
            if self.parent_stream.child_counter == 0 and self.parent_stream.close_on_last_child:
                self.parent_stream.close()
        self.file_obj.close(*args, **kwargs)

    def autoclose(self) -> None:
        """Close it as soon as nothing that lies in it is open."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __dir__(self) -> list[str]:
        return sorted({*vars(type(self)), *vars(self), *dir(self.file_obj)})

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.file_obj!r}>" if self.name is None else f"StreamWrapper<{self.name},{self.file_obj!r}>"
