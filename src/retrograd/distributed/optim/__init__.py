"""Optimizers over several processes: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
