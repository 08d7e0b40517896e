"""References of the methods that convert a tensor to a dtype, as functions."""
from __future__ import annotations

from typing import Any

import retrograd as torch

CONVERSIONS = ("bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf", "char", "double", "float", "half", "int", "long",
               "short")

complex, polar = torch.complex, torch.polar


def __getattr__(name: str) -> Any:
    if name in CONVERSIONS:
        return getattr(torch.Tensor, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
