"""Helpers for functions that write an op as ONNX nodes; programs register such functions, and nothing calls them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that notes how an exporter has to read each argument.

    >>> @parse_args("v", "i")
    ... def symbolic(g, x, dim): pass
    >>> symbolic._arg_descriptors
    ['v', 'i']
    """
    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        function._arg_descriptors = list(arg_descriptors)      # type: ignore[attr-defined]
        return function
    return note
