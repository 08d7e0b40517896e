"""State of sharded models and optimizers: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
