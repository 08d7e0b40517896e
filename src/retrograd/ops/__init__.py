"""The op tables. To users this package is `torch.ops`: its namespaces of ops (`ops.aten.sin.default`) are found here."""
from __future__ import annotations

from typing import Any

from retrograd.core import api


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(api.ops, name)
