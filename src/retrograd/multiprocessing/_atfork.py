"""Functions that run in a process that was forked, under PyTorch's name."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

__all__ = ["register_after_fork"]


def register_after_fork(func: Callable[[], Any]) -> None:
    """Let a function run in every child process that is forked from now on, before anything else there."""
    os.register_at_fork(after_in_child=func)
