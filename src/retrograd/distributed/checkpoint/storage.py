"""Where checkpoints of several processes are written: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed import checkpoint
from retrograd.distributed._absent import absent

NAMES = ("StorageReader", "StorageWriter")
__all__ = [*NAMES, *(MORE := ("WriteResult",))]
globals().update({name: getattr(checkpoint, name) for name in NAMES}, **absent(__name__, *MORE))
