"""Reference implementations under PyTorch's names: here the library's own functions are the reference."""
from __future__ import annotations

from typing import Any

import retrograd as torch


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        for home in (torch, torch.Tensor):
            found = getattr(home, name, None)
            if callable(found) and not isinstance(found, type):
                globals()[name] = found
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
