"""The op tables. To users this package is `torch.ops`: its namespaces of ops (`ops.aten.sin.default`) are found here."""
from __future__ import annotations

from importlib.machinery import PathFinder
from typing import Any

from retrograd.core import api


def __getattr__(name: str) -> Any:
    # pytest asks every module for its plugins
    if name.startswith(("__", "pytest_")) or PathFinder.find_spec(f"{__name__}.{name}", __path__):      # a table not imported yet
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(api.ops, name)
    return found
