"""Where PyTorch keeps its function transforms: the same functions as in `retrograd.func`, and the parts they are made of."""
from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name not in [module.name for module in iter_modules(__path__)]:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
