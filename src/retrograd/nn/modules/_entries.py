"""Keys and pairs that containers of modules and of parameters take."""
from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any


def key_of(index: Any, length: int) -> str:
    """The name of the child at `index`, negative ones counted from the end."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return str(index % length)


def pairs_of(source: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The (key, value) pairs of a mapping or an iterable of pairs, checked as PyTorch checks them."""
    if not isinstance(source, Iterable):
        raise TypeError(f"{name}.update should be called with an iterable of key/value pairs, but got {type(source).__name__}")
    if hasattr(source, "items"):
        yield from source.items()
        return
    name = name.replace("Parameters", "Parameter")
    for i, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{i} has length {len(pair)}; 2 is required")
        yield pair
