"""The op tables. To users this package is `torch.ops`: its namespaces of ops (`ops.aten.sin.default`) are found here."""
from __future__ import annotations

from importlib.machinery import PathFinder
from typing import Any

from retrograd.core import api

NOT_NAMESPACES = ("__", "pytest", "setup", "setUp", "teardown", "tearDown")


def __getattr__(name: str) -> Any:
    # a table that is not imported yet, or a dunder that Python and test runners look up on every module
    if name.startswith(NOT_NAMESPACES) or PathFinder.find_spec(f"{__name__}.{name}", __path__):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(api.ops, name)
    return found
