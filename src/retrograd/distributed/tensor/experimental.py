"""Experiments with distributed tensors: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "context_parallel", "implicit_replication", "local_map", "register_sharding",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
