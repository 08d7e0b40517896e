"""The names of `retrograd.nn` under the path that PyTorch gives its modules."""
from __future__ import annotations

from typing import Any

from retrograd import nn
from retrograd.nn.module import Module


def __getattr__(name: str) -> Any:
    if name in nn.__all__:
        return getattr(nn, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Module"]
