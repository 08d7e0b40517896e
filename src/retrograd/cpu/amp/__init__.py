"""Mixed precision under its old name for the cpu."""
from __future__ import annotations

from retrograd.cpu.amp.autocast_mode import autocast
from retrograd.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
