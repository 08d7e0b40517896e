"""The old name of `torch.ao.quantization`."""
from __future__ import annotations

from typing import Any

from retrograd.ao import quantization
from retrograd.ao.quantization import __all__ as __all__

__path__: list[str] = []        # its modules are those of ao.quantization (see SAME in _torch_map.py)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(quantization, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
