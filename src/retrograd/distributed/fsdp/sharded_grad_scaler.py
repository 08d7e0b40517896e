"""Scaled gradients of sharded models: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "ShardedGradScaler",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
