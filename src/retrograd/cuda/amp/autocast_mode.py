"""The casts of `torch.cuda.amp`, in the module where programs look for them."""
from __future__ import annotations

from retrograd.cuda.amp import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
