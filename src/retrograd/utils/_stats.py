"""How often functions were called."""
from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

__all__ = ["count", "count_label", "simple_call_counter"]

simple_call_counter: OrderedDict[str, int] = OrderedDict()


def count_label(label: str) -> None:
    """Count one more call under a name."""
    simple_call_counter[label] = simple_call_counter.get(label, 0) + 1


def count(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that counts the calls of a function, by its qualified name.

    >>> @count
    ... def step(): pass
    >>> step()
    >>> simple_call_counter["step"]
    1
    """
    @functools.wraps(fn)
    def counted(*args: Any, **kwargs: Any) -> Any:
        count_label(fn.__qualname__)
        return fn(*args, **kwargs)
    return counted
