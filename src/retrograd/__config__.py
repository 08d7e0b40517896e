"""What the library is built on, in words: `torch.__config__`."""
from __future__ import annotations

import os
import platform

import numpy as np

from retrograd.core.tensor import COMPILED
from retrograd.settings import get_num_interop_threads, get_num_threads


def show() -> str:
    """The parts that the library is made of, one per line.

    >>> print(show().splitlines()[0])
    PyTorch's interface by retrograd, built with:
    """
    lines = ["PyTorch's interface by retrograd, built with:",
             f"Python {platform.python_version()} ({platform.python_compiler()})",
             f"NumPy {np.__version__}",
             "compiled core" if COMPILED else "plain Python core",
             "LAPACK is enabled (NumPy's)",
             "Build settings: USE_CUDA=0, USE_CUDNN=OFF, USE_MKL=OFF, USE_MKLDNN=OFF, USE_MPI=OFF, USE_NCCL=OFF, "
             "USE_OPENMP=OFF, USE_ROCM=OFF, USE_XPU=OFF"]
    return "\n  - ".join(lines) + "\n"


def parallel_info() -> str:
    """How many threads ops may use.

    >>> "at::get_num_threads()" in parallel_info()
    True
    """
    return (f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
            f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
            f"hardware concurrency : {os.cpu_count()}\nEnvironment variables:\n"
            f"\tOMP_NUM_THREADS : {os.environ.get('OMP_NUM_THREADS', '[not set]')}\n"
            f"\tMKL_NUM_THREADS : {os.environ.get('MKL_NUM_THREADS', '[not set]')}\n")
