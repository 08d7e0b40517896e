"""Automatic mixed precision: PyTorch's `torch.amp`, for the cpu."""
from __future__ import annotations

from retrograd.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
