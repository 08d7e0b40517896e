"""Extensions in C++ for PyTorch: they are compiled against PyTorch's own library, so building or loading one is refused."""
from __future__ import annotations

import os
from typing import Any, NoReturn

__all__ = ["BuildExtension", "CUDA_HOME", "CUDAExtension", "CppExtension", "ROCM_HOME", "include_paths", "library_paths",
           "load", "load_inline"]

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False
REFUSED = ("C++ extensions need PyTorch's own C++ library, which retrograd does not have. Write the operator in Python with "
           "torch.library.custom_op or torch.autograd.Function")


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Stands for everything that would compile.

    >>> load("fast", ["fast.cpp"])
    Traceback (most recent call last):
    RuntimeError: C++ extensions need PyTorch's own C++ library, which retrograd does not have...
    """
    raise RuntimeError(REFUSED)


load = load_inline = CppExtension = CUDAExtension = SyclExtension = refuse


class BuildExtension:
    """The build command of setup.py, which refuses as soon as it is used."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse()

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        return cls


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders of C++ headers: none.

    >>> include_paths()
    []
    """
    return []


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: Any = None) -> list[str]:
    """The folders of C++ libraries: none.

    >>> library_paths()
    []
    """
    return []


def is_ninja_available() -> bool:
    """Whether the build tool ninja is on the path."""
    return any(os.access(os.path.join(folder, "ninja"), os.X_OK) for folder in os.get_exec_path())
