"""Whether TorchScript compiles: never, as in PyTorch with PYTORCH_JIT=0; and the trace that runs in this thread."""
from __future__ import annotations

import threading
from typing import Any


class EnabledProxy:
    """The switch of the compiler, which stays off."""

    enabled = False

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()
_script_classes: dict[type, Any] = {}


def disable() -> None:
    """Switch the compiler off, which it is."""


class TracingState:
    """The names of the scopes that are open; programs push and pop them in hooks of modules."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        self.scopes.append(name)

    def pop_scope(self) -> None:
        self.scopes.pop()


class Current(threading.local):
    """The state of the trace that runs in this thread."""

    state: TracingState | None = None


current = Current()
