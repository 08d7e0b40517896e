"""Collectives in traced programs: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "AsyncCollectiveTensor", "all_gather_tensor", "all_reduce", "all_to_all_single", "broadcast",
    "reduce_scatter_tensor", "all_to_all_single_autograd", "permute_tensor", "wait_tensor",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
