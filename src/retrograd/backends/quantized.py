"""Engines for quantized arithmetic: there are none, since quantized models compute in floating point here."""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__ = ["engine", "supported_engines"]

supported_engines: list[str] = []
engine = "none"


class Settings(ModuleType):
    """The module, which refuses engines that are not there."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "supported_engines":
            raise RuntimeError("Assignment not supported")
        if name == "engine" and value not in (*supported_engines, "none"):
            raise RuntimeError(f"{value} is not a valid value for quantized engine")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = Settings
