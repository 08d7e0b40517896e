"""The scaler of `torch.cuda.amp`, in the module where programs look for it."""
from __future__ import annotations

from retrograd.amp.grad_scaler import OptState
from retrograd.cuda.amp import GradScaler

__all__ = ["GradScaler", "OptState"]
