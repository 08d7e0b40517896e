"""The settings of `save` and `load`, by name: `config.load.mmap = True`.

`load.mmap` is what `load(mmap=None)` means, `load.mmap_flags` and `load.endianness` are what `set_default_mmap_options` and
`set_default_load_endianness` set, `save.compute_crc32` what `set_crc32_options` sets, and `save.storage_alignment` is the
number of bytes to a multiple of which storages are moved in a file. `load.calculate_storage_offsets` and
`save.use_pinned_memory_for_d2h` change nothing here: offsets are always read from the file, and no storage lies on a device.
"""
from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from retrograd.serialization import options as _settings

_NAMES = {
    "load.mmap": "mmap", "load.endianness": "endianness", "load.mmap_flags": "mmap_flags",
    "load.calculate_storage_offsets": "calculate_storage_offsets", "save.compute_crc32": "crc32",
    "save.use_pinned_memory_for_d2h": "use_pinned_memory_for_d2h", "save.storage_alignment": "storage_alignment",
}


class Section:
    """The settings whose names begin with `load.` or `save.`."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        return getattr(_settings.options, attribute_of(f"{self._name}.{name}"))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_settings.options, attribute_of(f"{self._name}.{name}"), value)


def attribute_of(name: str) -> str:
    if name not in _NAMES:
        raise AttributeError(f"torch.utils.serialization.config.{name} does not exist")
    return _NAMES[name]


load, save = Section("load"), Section("save")


class _Settings(ModuleType):
    """The module itself, which has no other settings than those of its sections."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in self.__dict__:
            raise AttributeError(f"torch.utils.serialization.config.{name} does not exist")
        super().__setattr__(name, value)


def get_config_copy() -> dict[str, Any]:
    """All settings by name.

    >>> get_config_copy()["save.storage_alignment"]
    64
    """
    return {name: getattr(_settings.options, attribute) for name, attribute in _NAMES.items()}


class patch(AbstractContextManager[None]):
    """Settings for the length of a scope: a name and a value, a dict, or keywords.

    >>> with patch("load.mmap", True):
    ...     load.mmap
    True
    >>> load.mmap
    False
    """

    def __init__(self, arg1: Any = None, arg2: Any = None, **kwargs: Any) -> None:
        self.changes: dict[str, Any] = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or {}, **kwargs)
        for name in self.changes:
            attribute_of(name)

    def __enter__(self) -> None:
        self.before = {name: getattr(_settings.options, _NAMES[name]) for name in self.changes}
        self.change(self.changes)

    def __exit__(self, *exc: Any) -> None:
        self.change(self.before)

    @staticmethod
    def change(values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(_settings.options, _NAMES[name], value)


sys.modules[__name__].__class__ = _Settings
