"""Starting processes: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "DefaultLogsSpecs", "LogsSpecs", "MultiprocessContext", "PContext", "RunProcsResult", "SignalException", "Std",
    "SubprocessContext", "start_processes", "to_map",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
