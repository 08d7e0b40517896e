"""The switch for invariant checks in the constructors of sparse tensors."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Checking:
    """The setting of this process."""

    def __init__(self) -> None:
        self.enabled = False


checking = Checking()


class check_sparse_tensor_invariants:
    """Turns the checks on or off: globally, inside a `with` block, or for the calls of a function.

    >>> with check_sparse_tensor_invariants():
    ...     check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.before: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        return checking.enabled

    @staticmethod
    def enable() -> None:
        checking.enabled = True

    @staticmethod
    def disable() -> None:
        checking.enabled = False

    def __enter__(self) -> None:
        if self.before is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance "
                               "for context nesting.")
        self.before = checking.enabled
        checking.enabled = self.state

    def __exit__(self, *exc: Any) -> None:
        assert self.before is not None
        checking.enabled, self.before = self.before, None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)
        return checked
