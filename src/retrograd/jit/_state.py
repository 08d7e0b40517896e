"""Whether TorchScript compiles: never, as in PyTorch with PYTORCH_JIT=0."""
from __future__ import annotations

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
