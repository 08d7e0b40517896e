"""Tensor parallelism: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
