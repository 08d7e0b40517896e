"""Automatic mixed precision: PyTorch's `torch.amp`, for the cpu."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from retrograd.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def __getattr__(name: str) -> Any:
    if name in ("GradScaler", "grad_scaler"):
        module = import_module("retrograd.amp.grad_scaler")
        return module.GradScaler if name == "GradScaler" else module
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
