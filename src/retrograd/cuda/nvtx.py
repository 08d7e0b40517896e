"""Marks for NVIDIA's profiler, which is not there."""
from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Stands for every mark.

    >>> mark("here")
    Traceback (most recent call last):
    RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build?
    """
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


mark = range_end = range_pop = range_push = range_start = range = refuse
