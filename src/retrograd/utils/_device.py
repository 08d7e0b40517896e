"""The scope of `with torch.device("meta")` under PyTorch's private name."""
from __future__ import annotations

from retrograd.settings import DeviceContext, _device_constructors

__all__ = ["DeviceContext", "_device_constructors"]
