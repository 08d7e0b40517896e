"""The number of threads that ops use: the pool of the compiled kernels, and the BLAS libraries loaded by NumPy and SciPy."""
from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import numpy as np

from retrograd.core import fast_kernels
from retrograd.core.algorithms import native

# OpenBLAS as wheels carry it, with 64-bit integers or without, and as distributions build it; then MKL and BLIS
SETTERS = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads64_",
           "openblas_set_num_threads", "MKL_Set_Num_Threads", "bli_thread_set_num_threads")


class Threads:
    """The requested numbers of threads."""

    count = fast_kernels.default_threads()


def get_threads() -> int:
    return Threads.count


def set_threads(number: int) -> None:
    """Set the number of threads for kernels and matrix products."""
    Threads.count = number
    if fast_kernels.native is not None:
        fast_kernels.native.set_threads(number)
    for setter in blas_setters():
        setter(number)


def blas_setters() -> list[Any]:
    """The functions that set the number of threads of the loaded BLAS libraries."""
    return [setter for _, setter in blas_functions()]


def tell_algorithms() -> None:
    """Let compiled algorithms limit the BLAS to one thread while several of their threads call it."""
    found = []
    for path, setter in blas_functions():
        getter = getattr(ctypes.CDLL(path), setter.__name__.replace("_set_", "_get_"), None)
        if getter is not None:
            found += [ctypes.cast(function, ctypes.c_void_p).value for function in (getter, setter)]
    if native is not None:
        native.use_blas(*found)


def blas_functions() -> list[tuple[str, Any]]:
    """The loaded BLAS libraries with the function of each that sets its number of threads."""
    found = []
    for path in blas_libraries():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in SETTERS:
            if hasattr(library, name):
                found.append((path, getattr(library, name)))
                break
    return found


def blas_libraries() -> list[str]:
    """The paths of the BLAS libraries loaded in this process."""
    if sys.platform == "linux":
        with open("/proc/self/maps") as maps:
            files = {line.split()[-1] for line in maps if "/" in line}
    else:
        root = os.path.dirname(os.path.dirname(np.__file__))
        folders = [os.path.join(root, name) for name in ("numpy.libs", "numpy/.dylibs", "scipy.libs", "scipy/.dylibs")]
        files = {os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)}
    return sorted(path for path in files if any(name in os.path.basename(path) for name in ("openblas", "mkl_rt", "libblis")))
