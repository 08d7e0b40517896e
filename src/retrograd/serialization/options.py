"""The settings of `save` and `load`: what is declared safe, byte order, checksums, memory maps."""
from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED
from typing import Any

from retrograd.serialization.errors import UnpicklingError

SAFE: dict[Any, None] = {}          # what the user declared safe: objects, or pairs (object, "module.name"), in order


class LoadEndianness(Enum):
    """The byte order that `load` assumes for a file that does not say its own."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class Options:
    """The settings of this process."""

    def __init__(self) -> None:
        self.endianness: LoadEndianness | None = None
        self.crc32 = True
        self.mmap = False                       # what load(mmap=None) means
        self.storage_alignment = 64             # the bytes to a multiple of which `save` moves the data of a storage
        self.calculate_storage_offsets = False
        self.use_pinned_memory_for_d2h = False
        self.mmap_flags: int = MAP_PRIVATE
        self.skip_data = False


options = Options()


# ---- names that files may use
def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files read with `weights_only` name these classes and functions; a pair (object, "module.name") renames one.

    >>> add_safe_globals([])
    """
    SAFE.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[Any]:
    """What was declared safe.

    >>> get_safe_globals()
    []
    """
    return list(SAFE)


def clear_safe_globals() -> None:
    """Forget all that was declared safe.

    >>> clear_safe_globals()
    """
    SAFE.clear()


class safe_globals(AbstractContextManager[None]):
    """`add_safe_globals` for the length of a scope.

    >>> with safe_globals([]): pass
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: Any) -> None:
        for entry in self.safe_globals:
            SAFE.pop(entry, None)


def safe_names() -> dict[str, Any]:
    """What was declared safe, by the name that files use."""
    found: dict[str, Any] = {}
    for entry in SAFE:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError("Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                                 f"{len(entry)}")
            if type(entry[1]) is not str:
                raise TypeError("Expected second item in tuple to be str of callable full path, but got: "
                                f"{type(entry[1])}")
            found[entry[1]] = entry[0]
        else:
            found[f"{entry.__module__}.{entry.__qualname__}"] = entry
    return found


# ---- the rest
def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for files that do not say theirs; None means the machine's own.

    >>> get_default_load_endianness()
    """
    return options.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Assume a byte order for files that do not say theirs.

    >>> set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    options.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` writes checksums.

    >>> get_crc32_options()
    True
    """
    return options.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether `save` writes checksums; they are always written here, since zip readers refuse files without them.

    >>> set_crc32_options(True)
    """
    options.crc32 = bool(compute_crc32)


def get_default_mmap_options() -> int:
    """The flags of the memory maps that `load(mmap=True)` makes.

    >>> get_default_mmap_options() == MAP_PRIVATE
    True
    """
    return options.mmap_flags


class set_default_mmap_options(AbstractContextManager[None]):
    """Choose between mmap.MAP_PRIVATE, where writes stay in memory, and mmap.MAP_SHARED, where they reach the file.

    >>> with set_default_mmap_options(MAP_SHARED): pass
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                             f"mmap.MAP_SHARED, but got {flags}")
        self.before, options.mmap_flags = options.mmap_flags, flags

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        options.mmap_flags = self.before


def checked_order(text: bytes) -> str:
    """The byte order that a file says it has."""
    if text not in (b"little", b"big"):
        raise UnpicklingError("Unknown endianness type: the file's byteorder record is neither little nor big")
    return text.decode()


class skip_data(AbstractContextManager[None]):
    """A scope in which `save` writes zeros in the place of tensors' data, and `load` does not read them.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self.before, options.skip_data = options.skip_data, True

    def __exit__(self, *exc: Any) -> None:
        options.skip_data = self.before
