"""Signals: the windows of `torch.signal.windows`."""
from __future__ import annotations

from retrograd.signal import windows

__all__ = ["windows"]
