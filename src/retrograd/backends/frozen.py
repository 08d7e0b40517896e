"""Whether settings of back ends may be changed outside of a `flags` block."""
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

frozen = False


class Settings(ModuleType):
    """A module whose variables are settings of a back end."""

    def __setattr__(self, name: str, value: Any) -> None:
        if frozen and not name.startswith("__"):
            shown = self.__name__.replace("retrograd", "torch", 1)
            raise RuntimeError(f"not allowed to set {shown} flags after disable_global_flags; please use flags() context "
                               "manager instead")
        super().__setattr__(name, value)


def disable_global_flags() -> None:
    """Allow changes of settings only in `flags` blocks from now on; `flags_frozen` says so."""
    global frozen
    frozen = True


def flags_frozen() -> bool:
    """Whether settings may be changed only in `flags` blocks.

    >>> flags_frozen()
    False
    """
    return frozen


@contextmanager
def allow_changes() -> Generator[None, None, None]:
    """A scope in which settings may be changed.

    >>> with allow_changes():
    ...     flags_frozen()
    False
    """
    global frozen
    before, frozen = frozen, False
    try:
        yield
    finally:
        frozen = before
