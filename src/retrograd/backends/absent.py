"""What a library that nothing here uses answers when it is asked."""
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

enabled = False


def is_available() -> bool:
    """Whether it can be used.

    >>> is_available()
    False
    """
    return False


is_built = is_available


def version() -> None:
    """Its version, if it were there."""


@contextmanager
def flags(*args: Any, **kwargs: Any) -> Generator[None, None, None]:
    """A scope with other settings; they have no effect.

    >>> with flags(): pass
    """
    yield
