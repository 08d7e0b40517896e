"""Helpers around the library: PyTorch's `torch.utils`."""
from __future__ import annotations

from importlib import import_module
from typing import Any

LATER = ("_contextlib", "_device", "_foreach_utils", "_mode_utils", "_python_dispatch", "_pytree", "backcompat", "benchmark",
         "checkpoint", "collect_env", "cpp_extension", "data", "deterministic", "dlpack", "flop_counter", "hooks",
         "model_zoo", "tensorboard", "weak")


def set_module(obj: Any, mod: str) -> None:
    """Say that an object belongs to a module.

    >>> def f(): pass
    >>> set_module(f, "torch")
    >>> f.__module__
    'torch'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> Any:
    if name in LATER:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
