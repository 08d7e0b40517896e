"""Automatic differentiation: PyTorch's names of `torch.autograd`."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from retrograd.autograd import anomaly as anomaly_mode
from retrograd.autograd import grad_mode
from retrograd.autograd.anomaly import detect_anomaly, set_detect_anomaly
from retrograd.autograd.backward import backward, grad
from retrograd.autograd.backward import calculate_shape as _calculate_shape
from retrograd.autograd.engine import is_checkpoint_valid
from retrograd.autograd.grad_mode import (
    _force_original_view_tracking,
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from retrograd.autograd.gradcheck import gradcheck, gradgradcheck
from retrograd.autograd.origins import trace_origins
from retrograd.autograd.variable import Variable
from retrograd.core.saved import SavedTensor

__all__ = ["Function", "SavedTensor", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "forward_ad",
           "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled",
           "is_view_replay_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
           "trace_origins", "variable"]

_is_checkpoint_valid = is_checkpoint_valid


def variable(*args: Any, **kwargs: Any) -> Any:
    """The removed `variable` function: raises an error that names its replacement.

    >>> variable(1.0)
    Traceback (most recent call last):
    RuntimeError: torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead
    """
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


variable.Variable = Variable  # type: ignore[attr-defined]

# Rarely used names, imported on first use: name -> (module, name in it, "" for the module itself).
LATER = {
    "DeviceType": ("profiler_util", "DeviceType"),
    "Function": ("function", "Function"),
    "NestedIOFunction": ("function", "NestedIOFunction"),
    "_profiler_enabled": ("profiler", "profiler_enabled"),
    "debug": ("debug", ""),
    "forward_ad": ("forward_ad", ""),
    "functional": ("functional", ""),
    "graph": ("graph", ""),
    "kineto_available": ("profiler", "kineto_available"),
    "profiler": ("profiler", ""),
    "profiler_util": ("profiler_util", ""),
}


def __getattr__(name: str) -> Any:
    where = LATER.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{where[0]}")
    except ModuleNotFoundError as missing:
        if missing.name != f"{__name__}.{where[0]}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from missing
    value = globals()[name] = getattr(module, where[1]) if where[1] else module
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LATER})
