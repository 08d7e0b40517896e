"""The scope of `with torch.device("meta")` under PyTorch's private name, and as a decorator."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.settings import DeviceContext, _device_constructors
from retrograd.utils._contextlib import context_decorator

__all__ = ["DeviceContext", "_device_constructors", "set_device"]


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions and generators whose new tensors are on a device.

    >>> set_device("meta")(lambda: torch.ones(2).device)()
    device(type='meta')
    """
    return lambda func: context_decorator(torch.device(device), func)
