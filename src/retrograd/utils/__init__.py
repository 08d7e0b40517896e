"""Helpers around the library: PyTorch's `torch.utils`."""
from __future__ import annotations

import copyreg
import weakref
from importlib import import_module
from typing import Any

import retrograd as torch

LATER = ("_contextlib", "_device", "_foreach_utils", "_mode_utils", "_python_dispatch", "_pytree", "backcompat", "benchmark",
         "checkpoint", "collect_env", "cpp_extension", "data", "deterministic", "dlpack", "flop_counter", "hooks",
         "model_zoo", "module_tracker", "serialization", "tensorboard", "weak")


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


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange two tensors, for all references to them: classes, attributes, data and history.

    >>> import retrograd as torch
    >>> weight, other = torch.nn.Parameter(torch.ones(2)), torch.zeros(3)
    >>> torch.utils.swap_tensors(weight, other)
    >>> weight
    tensor([0., 0., 0.])
    """
    torch.compiler.disable(exchange)(t1, t2)      # a graph refers to tensors weakly, and knows them by identity


def exchange(t1: Any, t2: Any) -> None:
    for name, t in (("t1", t1), ("t2", t2)):
        known = 1 if t.is_leaf and t.requires_grad else 0      # the accumulator of a leaf has a weak reference to it
        if weakref.getweakrefcount(t) > known:
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = [set(copyreg._slotnames(type(t))) for t in (t1, t2)]  # type: ignore[attr-defined]
    if slots[0] != slots[1]:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1._swap_with(t2)


def __getattr__(name: str) -> Any:
    if name in LATER:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
