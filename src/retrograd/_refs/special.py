"""References of `retrograd.special`: its functions."""
from __future__ import annotations

from typing import Any

import retrograd.special as functions


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else getattr(functions, name, None)
    if callable(found) and not isinstance(found, type):
        return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
