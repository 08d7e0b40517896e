"""torch.accelerator: whatever computes beside the cpu, which here is nothing."""
from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether there is an accelerator.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """The number of accelerators.

    >>> device_count()
    0
    """
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of accelerator that the library was built for; None, there is none.

    >>> current_accelerator()
    """
    return None
