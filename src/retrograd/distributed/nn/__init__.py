"""Differentiable collectives: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "RemoteModule", "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
