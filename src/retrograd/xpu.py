"""torch.xpu without such a device."""
from __future__ import annotations


def is_available() -> bool:
    """Whether there is an Intel GPU to compute on.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """The number of Intel GPUs.

    >>> device_count()
    0
    """
    return 0
