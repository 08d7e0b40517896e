"""The signature of a call: the properties of its arguments on which its ops may depend."""
from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor, wants_grad

DEEPEST = 4               # maximum depth of nested containers


def signature_of(value: Any, depth: int) -> Any:
    """The signature of an argument, a hashable tuple."""
    if isinstance(value, Tensor):
        t = value
        array = t.array
        marked = bool(getattr(t, "_dynamo_dynamic_indices", None))
        return array.shape, array.dtype, wants_grad(t), marked
    kind = type(value)
    if value is None or kind is int or kind is bool or kind is str:
        return kind, value
    if isinstance(value, (list, tuple)) and depth:
        parts: list[Any] = [kind]
        for item in value:
            parts.append(signature_of(item, depth - 1))
        return tuple(parts)
    if isinstance(value, dict) and depth:
        parts = [dict]
        for key, item in value.items():
            parts.append((str(key), signature_of(item, depth - 1)))
        return tuple(parts)
    if isinstance(value, (bool, int, float, complex, str)):
        return kind, repr(value)
    return kind, getattr(value, "training", None)


def call_signature(args: Any, kwargs: Any) -> Any:
    """The signature of all arguments."""
    parts: list[Any] = []
    for value in args:
        parts.append(signature_of(value, DEEPEST - 1))
    if kwargs:
        parts.append(signature_of(kwargs, DEEPEST - 1))
    return tuple(parts)
