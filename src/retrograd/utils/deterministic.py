"""A setting that goes with deterministic algorithms: whether uninitialised memory is filled."""
from __future__ import annotations

import sys
from types import ModuleType

from retrograd.settings import get_deterministic_fill_uninitialized_memory, set_deterministic_fill_uninitialized_memory


class Module(ModuleType):
    """The module, whose setting is where the kernels read it."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty` and `resize_` fill what they do not initialise, in deterministic mode."""
        return get_deterministic_fill_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        set_deterministic_fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = Module
