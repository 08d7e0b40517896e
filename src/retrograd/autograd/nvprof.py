"""Reads a trace that nvprof has written under `emit_nvtx`: a SQLite file of markers, runtime calls and kernels."""
from __future__ import annotations

import sqlite3
from typing import Any

from retrograd.autograd.profiler_util import EventList, FunctionEvent

LAUNCH = 211              # nvprof's number for cudaLaunchKernel

# A marker is two rows with one id: the first has a name, the second only the time.
MARKERS = """
    SELECT opened.id, opened.name, opened.timestamp, closed.timestamp
    FROM CUPTI_ACTIVITY_KIND_MARKER AS opened JOIN CUPTI_ACTIVITY_KIND_MARKER AS closed ON opened.id = closed.id
    WHERE opened.name != 0 AND closed.name = 0
    ORDER BY opened.timestamp, closed.timestamp DESC
"""
# A kernel belongs to the markers within which the call that launched it was made.
LAUNCHES = """
    SELECT opened.id, call.cbid, kernel.name, kernel.start, kernel.end
    FROM CUPTI_ACTIVITY_KIND_MARKER AS opened JOIN CUPTI_ACTIVITY_KIND_MARKER AS closed ON opened.id = closed.id
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS call ON opened.timestamp < call.start AND call.end < closed.timestamp
    JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS kernel ON kernel.correlationId = call.correlationId
    WHERE opened.name != 0 AND closed.name = 0
    ORDER BY kernel.start
"""


def load_nvprof(path: str) -> EventList:
    """The events of a trace file that nvprof has written."""
    return EventList(parse_nvprof_trace(path))


def parse_nvprof_trace(path: str) -> list[Any]:
    """The markers of a trace as events, each with the kernels that were launched within it."""
    connection = sqlite3.connect(path)
    try:
        names = dict(connection.execute("SELECT _id_, value FROM StringTable"))
        events = [FunctionEvent(id=key, node_id=0, name=names[name], thread=0, start_us=start, end_us=end)
                  for key, name, start, end in connection.execute(MARKERS)]
        by_id = {event.id: event for event in events}
        for key, call, kernel, start, end in connection.execute(LAUNCHES):
            if call != LAUNCH:
                raise AssertionError(f"Expected cbid to be {LAUNCH}, but got {call}")
            by_id[key].append_kernel(names.get(kernel, kernel), 0, end - start)
        return events
    finally:
        connection.close()
