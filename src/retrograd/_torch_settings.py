"""PyTorch's switches of its own builds and its log of events (`torch._utils_internal`): here everything has its default."""
from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

NO = False
TEST_MASTER_ADDR = "127.0.0.1"
TEST_MASTER_PORT = 29500


def switch(name: str, default: bool = True) -> bool:
    """A switch that only PyTorch's own builds can set."""
    return default


def number(name: str) -> int:
    """A number that only PyTorch's own builds can set."""
    return 0


def never() -> bool:
    return False


def ignored(*args: Any, **kwargs: Any) -> None:
    """Take an event for a log that nobody keeps."""


def resolve_library_path(path: str) -> str:
    """The path without links."""
    return os.path.realpath(path)


def deprecated() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that publishes a private function `_f` of a module as `f`, which warns that it is private.

    >>> deprecated()(max)
    Traceback (most recent call last):
    ValueError: @deprecate must decorate a function whose name starts with a single leading underscore, not max
    """
    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        public, module = func.__name__[1:], sys.modules[func.__module__]
        if not func.__name__.startswith("_"):
            raise ValueError("@deprecate must decorate a function whose name starts with a single leading underscore, not "
                             f"{func.__name__}")
        if hasattr(module, public):
            raise RuntimeError(f"Cannot create alias '{public}' -> symbol already exists in {module.__name__}")

        @functools.wraps(func)
        def warned(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(f"{public} is DEPRECATED, please consider using an alternative API(s). ", UserWarning, stacklevel=2)
            return func(*args, **kwargs)
        warned.__name__ = public
        setattr(module, public, warned)
        return func
    return decorate
