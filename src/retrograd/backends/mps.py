"""Apple's Metal, which nothing here uses."""
from __future__ import annotations

from retrograd.backends.absent import enabled, flags, is_available, is_built, version

__all__ = ["enabled", "flags", "is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer", "version"]


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is a macOS of this version that Metal runs on: no.

    >>> is_macos_or_newer(14, 0)
    False
    """
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """The same for macOS 13."""
    return False
