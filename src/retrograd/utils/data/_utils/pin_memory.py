"""Pinned memory: without an accelerator data stays where it is."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import retrograd as torch


def pin_memory(data: Any, device: Any = None) -> Any:
    """`data` with its tensors in pinned memory, through containers and objects that have a `pin_memory` of their own.

    >>> pin_memory({"x": [1, "text"]})
    {'x': [1, 'text']}
    """
    if isinstance(data, torch.Tensor):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if hasattr(data, "pin_memory"):
        return data.pin_memory() if device is None else data.pin_memory(device)
    if isinstance(data, Mapping):
        return rebuilt(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple):
        values = [pin_memory(value, device) for value in data]
        return type(data)(*values) if hasattr(data, "_fields") else values
    if isinstance(data, Sequence):
        return rebuilt(data, [pin_memory(value, device) for value in data])
    return data


def rebuilt(container: Any, values: Any) -> Any:
    """A container of the same type, or `values` where the type cannot be made from them."""
    try:
        return type(container)(values)
    except TypeError:
        return values
