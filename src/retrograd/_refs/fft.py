"""Reference implementations of functions for Fourier transforms: the library's own."""
from __future__ import annotations

from typing import Any

import retrograd as torch

home = torch.fft


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else getattr(home, name, None)
    if not callable(found) or isinstance(found, type):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = found
    return found
