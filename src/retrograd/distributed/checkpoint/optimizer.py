"""Optimizers of sharded models: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "load_sharded_optimizer_state_dict",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
