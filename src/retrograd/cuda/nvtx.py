"""Marks for NVIDIA's profiler, which is not there."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Stands for every mark.

    >>> mark("here")
    Traceback (most recent call last):
    RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build?
    """
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


mark = range_end = range_pop = range_push = range_start = refuse


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a block or, as a decorator, around the calls of a function: entering it raises.

    >>> @range("step")
    ... def step():
    ...     return 1
    """
    range_push(msg.format(*args, **kwargs))
    yield
