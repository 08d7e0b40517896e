"""Python's `multiprocessing` with tensors that processes share: PyTorch's `torch.multiprocessing`."""
from __future__ import annotations

import multiprocessing as _python
import threading as _threading
from typing import Any as _Any

from retrograd.multiprocessing import reductions
from retrograd.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [*_python.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]


class _Strategy:
    name = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The ways to share memory.

    >>> sorted(get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The way to share memory that was chosen.

    >>> get_sharing_strategy()
    'file_descriptor'
    """
    return _Strategy.name


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose a way to share memory; file descriptors are passed on in either case.

    >>> set_sharing_strategy("file_descriptor")
    """
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"sharing strategy must be one of {sorted(get_all_sharing_strategies())}, got {new_strategy!r}")
    _Strategy.name = new_strategy


def __getattr__(name: str) -> _Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_python, name)


reductions.init_reductions()


def _set_thread_name(name: str) -> None:
    """Name the calling thread, for debuggers and traces."""
    _threading.current_thread().name = name


def _get_thread_name() -> str:
    return _threading.current_thread().name
