"""Helpers of distributed checkpoints."""
from __future__ import annotations

from retrograd.distributed.checkpoint import CheckpointException

__all__ = ["CheckpointException"]
