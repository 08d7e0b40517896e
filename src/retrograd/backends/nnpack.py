"""NNPACK, which nothing here uses."""
from __future__ import annotations

from retrograd.backends.absent import enabled, flags, is_available, is_built, version

__all__ = ["enabled", "flags", "is_available", "is_built", "set_flags", "version"]


def set_flags(_enabled: bool) -> tuple[bool]:
    """Change whether it is used, and say whether it was; it never is.

    >>> set_flags(True)
    (False,)
    """
    return (False,)
