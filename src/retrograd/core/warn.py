"""Warnings that are given once per process, and the switch that gives them every time."""
from __future__ import annotations

import warnings


class Shown:
    """The one-time warnings given so far, and whether warnings are repeated."""

    always: bool = False
    texts: set[str] = set()


def set_warn_always(b: bool, /) -> None:
    """Set whether one-time warnings are given every time.

    >>> set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    Shown.always = b


def is_warn_always_enabled() -> bool:
    """Whether one-time warnings are given every time.

    >>> is_warn_always_enabled()
    False
    """
    return Shown.always


def warn_once(text: str, stacklevel: int) -> None:
    """Warn once per process."""
    if Shown.always or text not in Shown.texts:
        Shown.texts.add(text)
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)
