"""Small scopes around function transforms, under PyTorch's names."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd._functorch import levels

__all__ = ["argnums_t", "enable_single_level_autograd_function", "exposed_in", "unwrap_dead_wrappers"]

argnums_t = int | tuple[int, ...]


@contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """A scope in which Functions of one level may be applied inside of transforms."""
    was = levels.get_single_level_autograd_function_allowed()
    levels.set_single_level_autograd_function_allowed(True)
    try:
        yield
    finally:
        levels.set_single_level_autograd_function_allowed(was)


def unwrap_dead_wrappers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with tensors that have outlived their transform replaced by what they stand for."""
    return tuple(levels.unwrap_if_dead(arg) if hasattr(arg, "_flags") else arg for arg in args)


def exposed_in(module: str) -> Callable[[Any], Any]:
    """A decorator that says in which module a function is published."""
    def wrapper(fn: Any) -> Any:
        fn.__module__ = module
        return fn
    return wrapper
