"""torch.ao: the names that programs import from it."""
from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["nn", "quantization"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"retrograd.ao.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
