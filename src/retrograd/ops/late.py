"""Ops by name, for rules and composites that need an op declared in a module that imports theirs: `late.where(...)`.

An attribute is the public function of that name, or else the method; it is created on first use and cached in this module.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.api import internal_named
from retrograd.core.tensor import FUNCTIONS_BY_NAME


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = internal_named(name)
    return made
