"""Pipelines of model parts: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS",
    "SplitPoint", "SplitPoint.BEGINNING", "SplitPoint.END", "build_stage", "pipe_split", "pipeline",
)
__all__ = [name for name in NAMES if "." not in name]
globals().update(absent(__name__, *NAMES))
