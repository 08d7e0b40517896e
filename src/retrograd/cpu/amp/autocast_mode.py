"""`torch.cpu.amp.autocast`, the older form of `torch.amp.autocast("cpu")`."""
from __future__ import annotations

import warnings
from typing import Any

import retrograd as torch
from retrograd import amp

__all__ = ["autocast"]


class autocast(amp.autocast):
    """`torch.amp.autocast("cpu")`.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with autocast():
    ...         torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(self, enabled: bool = True, dtype: Any = torch.bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn("`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` "
                      "instead.", FutureWarning, stacklevel=2)
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
