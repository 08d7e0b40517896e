"""Mixed precision under its old name for CUDA; without a device it is off."""
from __future__ import annotations

import functools
import warnings
from typing import Any

import retrograd as torch
from retrograd import amp

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


def deprecated(name: str) -> None:
    warnings.warn(f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
                  FutureWarning, stacklevel=3)


class autocast(amp.autocast):
    """`torch.amp.autocast("cuda")`, which is off without a device."""

    def __init__(self, enabled: bool = True, dtype: Any = torch.float16, cache_enabled: bool = True) -> None:
        deprecated("autocast")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler("cuda")`, which is off without a device."""

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        deprecated("GradScaler")
        super().__init__("cuda", init_scale=init_scale, growth_factor=growth_factor, backoff_factor=backoff_factor,
                         growth_interval=growth_interval, enabled=enabled)


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """Whether there is no device for it.

    >>> amp_definitely_not_available()
    True
    """
    return not torch.cuda.is_available()
