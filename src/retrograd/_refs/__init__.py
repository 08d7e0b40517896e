"""PyTorch's reference implementations by their names; here every op is written in Python, so a reference is the op itself.

>>> import retrograd as torch
>>> torch._refs.add(torch.ones(2), 1)
tensor([2., 2.])
"""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd._refs import _conversions, fft, linalg, nn, special

__all__ = ["T", "_conversions", "alias", "cauchy", "copy_to", "exponential", "fft", "geometric", "linalg", "log_normal", "nn",
           "rfloordiv", "rpow", "rtruediv", "special", "swap_axes", "trunc_divide", "zero"]

Tensor = torch.Tensor


def __getattr__(name: str) -> Any:
    """The function of this name, or the method as a function."""
    if not name.startswith("__"):
        for place in (torch, Tensor):
            found = getattr(place, name, None)
            if callable(found) and not isinstance(found, type):
                return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def T(a: Any) -> Any:
    return a.T


def alias(a: Any) -> Any:
    return torch.ops.aten.alias(a)


def swap_axes(a: Any, axis0: int, axis1: int) -> Any:
    return torch.swapaxes(a, axis0, axis1)


def zero(a: Any) -> Any:
    return torch.zeros_like(a)


def copy_to(a: Any, b: Any, *, allow_cross_device: bool = True) -> Any:
    if not allow_cross_device and a.device != b.device:
        raise RuntimeError(f"Attempting to copy from device {b.device} to device {a.device}, but cross-device copies are not "
                           "allowed!")
    return a.copy_(b)


# ---- operators with the operands exchanged
def rtruediv(a: Any, b: Any) -> Any:
    return torch.true_divide(b, a)


def rfloordiv(a: Any, b: Any) -> Any:
    return torch.floor_divide(b, a)


def rpow(a: Any, b: Any) -> Any:
    return torch.pow(b, a)


def trunc_divide(a: Any, b: Any) -> Any:
    return torch.div(a, b, rounding_mode="trunc")


# ---- random values in the shape of a tensor
def cauchy(self: Any, median: float = 0, sigma: float = 1, generator: Any = None) -> Any:
    return torch.empty_like(self).cauchy_(median, sigma, generator=generator)


def exponential(self: Any, rate: float = 1, generator: Any = None) -> Any:
    return torch.empty_like(self).exponential_(rate, generator=generator)


def geometric(self: Any, p: float, generator: Any = None) -> Any:
    return torch.empty_like(self).geometric_(p, generator=generator)


def log_normal(self: Any, mean: float = 1, std: float = 2, generator: Any = None) -> Any:
    return torch.empty_like(self).log_normal_(mean, std, generator=generator)
