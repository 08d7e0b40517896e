"""Functions of `torch` under the name of the module that PyTorch defines them in."""
from __future__ import annotations

from typing import Any

import retrograd as _torch
from retrograd.core.subclass import IN_PYTHON

NAMES = tuple(sorted({*IN_PYTHON["torch.functional"], "istft"}))
__all__ = list(NAMES)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(_torch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
