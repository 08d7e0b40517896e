"""Small answers about the library itself: names of types, what it is built with, streams of the cpu."""
from __future__ import annotations

import os
import zipfile
from importlib import import_module
from types import ModuleType
from typing import Any

from retrograd.core.device import device
from retrograd.core.tensor import Tensor

has_lapack = has_mkl = has_openmp = has_spectral = True


def typename(obj: Any, /) -> str:
    """The name of an object's type, with its module; of a tensor's legacy type.

    >>> typename(3)
    'int'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    module, name = "", ""
    if hasattr(obj, "__qualname__"):
        module, name = getattr(obj, "__module__", "") or "", obj.__qualname__
    else:
        module, name = type(obj).__module__ or "", type(obj).__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


def get_device_module(kind: Any = None) -> ModuleType:
    """The module of a device, such as `torch.cpu`.

    >>> get_device_module("cpu").__name__.rpartition(".")[2]
    'cpu'
    """
    name = "cpu" if kind is None else device(kind).type
    return import_module(f"retrograd.{name}")


def compiled_with_cxx11_abi() -> bool:
    """Whether C++ code is compiled with the newer ABI.

    >>> compiled_with_cxx11_abi()
    True
    """
    return True


def is_vulkan_available() -> bool:
    """Whether Vulkan computes.

    >>> is_vulkan_available()
    False
    """
    return False


def set_flush_denormal(mode: bool) -> bool:
    """Whether tiny numbers can be made zero: no, NumPy keeps them.

    >>> set_flush_denormal(True)
    False
    """
    return False


def get_file_path(*path_components: str) -> str:
    """A path beside the package."""
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), *path_components)


class Classes:
    """`torch.classes`: classes of compiled libraries, which cannot be loaded."""

    loaded_libraries: set[str] = set()

    def load_library(self, path: str) -> None:
        raise OSError(f"Could not load this library: {path}. It is compiled against PyTorch's own C++ library")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"torch.classes has no {name!r}: no compiled library is loaded")


classes = Classes()


class PyTorchFileReader:
    """Reads the records of a file that `torch.save` wrote, by name.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> PyTorchFileReader(file).has_record("data.pkl")
    True
    """

    def __init__(self, file: Any) -> None:
        self.archive = zipfile.ZipFile(file)
        self.folder = self.archive.namelist()[0].partition("/")[0]

    def get_all_records(self) -> list[str]:
        """The names of the records."""
        return [name.partition("/")[2] for name in self.archive.namelist()]

    def has_record(self, name: str) -> bool:
        return f"{self.folder}/{name}" in self.archive.namelist()

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        if not self.has_record(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self.archive.read(f"{self.folder}/{name}")

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """A tensor over the bytes of a record, as elements of `dtype`."""
        from retrograd import frombuffer
        return frombuffer(bytearray(self.get_record(name)), dtype=dtype)


class AcceleratorError(RuntimeError):
    """An error of an accelerator, which there is none of."""


class Stream:
    """The queue of work of the cpu, which is done when a call returns."""

    def __init__(self, device: Any = "cpu", *, priority: int = 0) -> None:
        self.device, self.stream_id, self.device_index = parsed(device), 0, -1

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Wait for all work."""

    def wait_event(self, event: Any) -> None:
        """Let later work wait for an event."""

    def wait_stream(self, stream: Any) -> None:
        """Let later work wait for another stream."""

    def record_event(self, event: Any = None) -> Any:
        """An event at this point."""
        return Event() if event is None else event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *args: object) -> None:
        pass


class Event:
    """A point in the queue of work of the cpu."""

    def __init__(self, device: Any = "cpu", *, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False) -> None:
        self.device, self.event_id = parsed(device), 0

    def __repr__(self) -> str:
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id={self.event_id}"

    def record(self, stream: Any = None) -> None:
        """Mark this point."""

    def wait(self, stream: Any = None) -> None:
        """Let later work wait."""

    def query(self) -> bool:
        """Whether it is passed."""
        return True

    def synchronize(self) -> None:
        """Wait for it."""


def parsed(value: Any) -> device:
    found = device(value)
    if found.type not in ("cpu", "meta"):
        raise RuntimeError(f"PyTorch was compiled without {found.type.upper()} support: there is no such device")
    return found
