"""Checkpointing of the activations of wrapped modules: names that programs import, which raise when they are used."""
from __future__ import annotations

from enum import Enum, auto

from retrograd.distributed._absent import absent


class CheckpointImpl(Enum):
    """Which of the two checkpoint functions a wrapper uses."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


NAMES = ("CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper")
__all__ = ["CheckpointImpl", *NAMES]
globals().update(absent(__name__, *NAMES))
