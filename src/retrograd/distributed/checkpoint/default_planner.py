"""Plans for saving and loading: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "DefaultLoadPlanner", "DefaultSavePlanner",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
