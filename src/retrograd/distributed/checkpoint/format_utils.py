"""Conversion of checkpoints: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "dcp_to_torch_save", "torch_save_to_dcp",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES, "_EmptyStateDictLoadPlanner", "_load_state_dict"))
