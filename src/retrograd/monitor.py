"""Counters over windows of time, and events that handlers see: PyTorch's `torch.monitor`."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

__all__ = ["Aggregation", "Event", "EventHandlerHandle", "Stat", "TensorboardEventHandler", "data_value_t", "log_event",
           "register_event_handler", "unregister_event_handler"]

data_value_t = str | float | int | bool
STAT_EVENT = "torch.monitor.Stat"


class Aggregation(Enum):
    """What a `Stat` makes of the values of a window."""

    VALUE = 1
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


AGGREGATE: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.VALUE: lambda values: values[-1],
    Aggregation.MEAN: lambda values: sum(values) / len(values),
    Aggregation.COUNT: len,
    Aggregation.SUM: sum,
    Aggregation.MAX: max,
    Aggregation.MIN: min,
}
globals().update(Aggregation.__members__)


class Event:
    """Something that happened at a time, with values.

    >>> Event("step", datetime(2026, 1, 1), {"loss": 0.5}).data["loss"]
    0.5
    """

    def __init__(self, name: str, timestamp: datetime, data: Mapping[str, Any]) -> None:
        for value in data.values():
            if not isinstance(value, str | float | int):
                raise TypeError(f"data must be str, float, int or bool, but got {type(value).__name__}")
        self.name, self.timestamp, self.data = name, timestamp, dict(data)


class EventHandlerHandle:
    """What `register_event_handler` returns, to unregister by."""

    def __init__(self, callback: Callable[[Event], Any]) -> None:
        self.callback = callback


HANDLERS: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], Any]) -> EventHandlerHandle:
    """Let `callback` see every event from now on.

    >>> seen = []
    >>> handle = register_event_handler(seen.append)
    >>> log_event(Event("epoch", datetime(2026, 1, 1), {}))
    >>> unregister_event_handler(handle)
    >>> seen[0].name
    'epoch'
    """
    handle = EventHandlerHandle(callback)
    HANDLERS.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Take a handler away again."""
    if handler in HANDLERS:
        HANDLERS.remove(handler)


def log_event(event: Event) -> None:
    """Show an event to all handlers."""
    for handle in list(HANDLERS):
        handle.callback(event)


class Stat:
    """Values collected over windows; `get` tells of the last window that is complete, which is also logged as an event.

    >>> stat = Stat("loss", (Aggregation.SUM, Aggregation.COUNT), timedelta(hours=1), max_samples=2)
    >>> stat.add(2.0)
    >>> stat.count, stat.get()[Aggregation.SUM]
    (1, 0.0)
    >>> stat.add(3.0)
    >>> stat.count, stat.get()[Aggregation.SUM]
    (0, 5.0)
    """

    def __init__(self, name: str, aggregations: Iterable[Aggregation], window_size: timedelta,
                 max_samples: int = 2**63 - 1) -> None:
        self.name = name
        self._aggregations = list(aggregations)
        self._seconds = window_size.total_seconds()
        self._max_samples = max_samples
        self._window = self._now()
        self._values: list[float] = []
        self._last = dict.fromkeys(self._aggregations, 0.0)

    def _now(self) -> int:
        return int(time.time() // self._seconds) if self._seconds else 0

    def _finish_window(self) -> None:
        now = self._now()
        if now == self._window:
            return
        self._window = now
        if self._values:
            self._log()

    def _log(self) -> None:
        values, self._values = self._values, []
        self._last = {kind: float(AGGREGATE[kind](values)) for kind in self._aggregations}
        log_event(Event(STAT_EVENT, datetime.now(), {f"{self.name}.{kind.name.lower()}": value
                                                     for kind, value in self._last.items()}))

    def add(self, v: float) -> None:
        """Take in a value."""
        self._finish_window()
        self._values.append(float(v))
        if len(self._values) >= self._max_samples:
            self._log()

    @property
    def count(self) -> int:
        """How many values the window that is not complete has."""
        self._finish_window()
        return len(self._values)

    def get(self) -> dict[Aggregation, float]:
        """What became of the last complete window."""
        self._finish_window()
        return dict(self._last)


class TensorboardEventHandler:
    """A handler that writes the statistics among the events to a SummaryWriter.

    >>> class Writer:
    ...     def add_scalar(self, name, value, walltime):
    ...         print(name, value)
    >>> TensorboardEventHandler(Writer())(Event("torch.monitor.Stat", datetime(2026, 1, 1), {"loss.sum": 2.0}))
    loss.sum 2.0
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())
