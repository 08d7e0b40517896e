"""A decorator for functions that are published by another module than the one that defines them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["exposed_in"]


def exposed_in(module: str) -> Callable[[Any], Any]:
    """Let a function or a class name `module` as its own.

    >>> exposed_in("torch.func")(lambda x: x).__module__
    'torch.func'
    """
    def decorate(fn: Any) -> Any:
        fn.__module__ = module
        return fn
    return decorate
