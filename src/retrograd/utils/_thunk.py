"""Values that are computed when they are first needed."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Thunk"]


class Thunk:
    """The result of a function without arguments, which runs once, by `force`.

    >>> value = Thunk(lambda: print("computed") or 3)
    >>> value.force(), value.force()
    computed
    (3, 3)
    """

    __slots__ = ("f", "r")

    def __init__(self, f: Callable[[], Any]) -> None:
        self.f: Callable[[], Any] | None = f
        self.r: Any = None

    def force(self) -> Any:
        if self.f is not None:
            self.r, self.f = self.f(), None
        return self.r
