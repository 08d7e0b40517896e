"""Caches of methods that die with their objects."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["cache_method"]


def cache_method(f: Callable[..., Any]) -> Callable[..., Any]:
    """Remember the results of a method, in the object itself; arguments by position that can be hashed, no others.

    >>> class Squares:
    ...     @cache_method
    ...     def of(self, n):
    ...         print("computed")
    ...         return n * n
    >>> squares = Squares()
    >>> squares.of(3), squares.of(3)
    computed
    (9, 9)
    """
    name = f"_cache_method_{f.__name__}"

    @functools.wraps(f)
    def cached(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise AssertionError("cache_method does not accept keyword arguments")
        results = getattr(self, name, None)
        if results is None:
            results = {}
            setattr(self, name, results)
        if args not in results:
            results[args] = f(self, *args)
        return results[args]
    return cached
