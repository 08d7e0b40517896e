"""Errors of the processes that torchelastic starts; without it, `record` runs the function."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.distributed._absent import absent

NAMES = ("ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler")
__all__ = ["record", *NAMES]
globals().update(absent(__name__, *NAMES))


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """Mark the entry point of a program; a parent process that would be told of its errors does not exist.

    >>> record(lambda: 3)()
    3
    """
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)
    return wrapper
