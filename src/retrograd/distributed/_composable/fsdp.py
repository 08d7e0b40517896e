"""Sharding applied to modules: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "fully_shard",
    "register_fsdp_forward_method",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
