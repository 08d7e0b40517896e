"""Helpers for type checkers."""
from __future__ import annotations

from typing import TypeVar

__all__ = ["not_none"]

T = TypeVar("T")


def not_none(obj: T | None) -> T:
    """The value, which must not be None.

    >>> not_none(3)
    3
    """
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj
