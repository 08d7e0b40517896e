"""The op tables. To users this package is `torch.ops`: its namespaces of ops (`ops.aten.sin.default`) are found here."""
from __future__ import annotations

from pkgutil import iter_modules
from typing import Any

from retrograd.core import api


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name in [table.name for table in iter_modules(__path__)]:      # one that is not imported yet
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(api.ops, name)
    return found
