"""torch.cuda.streams: names of `torch.cuda`."""
from __future__ import annotations

from retrograd.cuda import Event, ExternalStream, Stream

__all__ = ["Event", "ExternalStream", "Stream"]
