"""torch.ao: the names that programs import from it."""
from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["quantization"]


def __getattr__(name: str) -> Any:
    if name == "quantization":
        return import_module("retrograd.ao.quantization")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
