"""Whether `torch.cuda.amp` can be used, in the module where programs look for it."""
from __future__ import annotations

from retrograd.cuda.amp import amp_definitely_not_available

__all__ = ["amp_definitely_not_available"]
