"""torch.cpu: the device that is always there, with the functions that programs call on any device."""
from __future__ import annotations

from typing import Any

__all__ = ["current_device", "device_count", "is_available", "set_device", "synchronize"]


def is_available() -> bool:
    """Whether the cpu is there.

    >>> is_available()
    True
    """
    return True


def device_count() -> int:
    """The number of cpu devices; all cores are one.

    >>> device_count()
    1
    """
    return 1


def current_device() -> str:
    """The name of the device.

    >>> current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """There is nothing to choose from.

    >>> set_device("cpu")
    """


def synchronize(device: Any = None) -> None:
    """Computation on the cpu is done when the call returns.

    >>> synchronize()
    """
