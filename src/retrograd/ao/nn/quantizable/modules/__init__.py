"""The package of modules that PyTorch converts to quantized ones; there are no quantized tensors, and it has none."""
from __future__ import annotations

__all__: list[str] = []
