"""Intel's ITT annotations, which are not available: no collector can be attached to this library."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]

NOT_INSTALLED = "ITT functions not installed. Are you sure you have a ITT build?"


def is_available() -> bool:
    """Whether a collector receives annotations.

    >>> is_available()
    False
    """
    return False


def range_push(msg: str) -> None:
    raise RuntimeError(NOT_INSTALLED)


def range_pop() -> None:
    raise RuntimeError(NOT_INSTALLED)


def mark(msg: str) -> None:
    raise RuntimeError(NOT_INSTALLED)


@contextmanager
def range(msg: str) -> Iterator[None]:
    """A scope as a range."""
    range_push(msg)
    try:
        yield
    finally:
        range_pop()
