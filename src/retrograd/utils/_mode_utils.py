"""Small helpers for writing modes, under PyTorch's names."""
from __future__ import annotations

from typing import Any

from retrograd.core.modes import no_dispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Any) -> bool:
    """Whether all of `modes` are the same object.

    >>> all_same_mode([1, 1])
    True
    """
    return all([mode is modes[0] for mode in modes])
