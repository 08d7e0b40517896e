"""Statistics over windows and events, as in torch.monitor."""
from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from retrograd import monitor
from retrograd.monitor import Aggregation, Event, Stat


@pytest.fixture
def events() -> Any:
    seen: list[Event] = []
    handle = monitor.register_event_handler(seen.append)
    yield seen
    monitor.unregister_event_handler(handle)


def test_stat_tells_of_complete_windows_only(events: list[Event]) -> None:
    stat = Stat("loss", list(Aggregation), timedelta(days=10**4), max_samples=3)
    for value in (3.0, 1.0):
        stat.add(value)
    assert stat.count == 2 and set(stat.get().values()) == {0.0} and events == []
    stat.add(2.0)
    assert stat.count == 0
    assert {kind.name: value for kind, value in stat.get().items()} == {
        "VALUE": 2.0, "MEAN": 2.0, "COUNT": 3.0, "SUM": 6.0, "MAX": 3.0, "MIN": 1.0}
    assert [event.name for event in events] == ["torch.monitor.Stat"]
    assert events[0].data["loss.max"] == 3.0


def test_window_ends_with_its_time(events: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(monitor.time, "time", lambda: now[0])
    stat = Stat("steps", [Aggregation.COUNT], timedelta(seconds=10))
    stat.add(1.0)
    now[0] = 111.0
    assert stat.count == 0 and stat.get() == {Aggregation.COUNT: 1.0} and len(events) == 1


def test_unregistered_handler_sees_nothing() -> None:
    seen: list[Event] = []
    handle = monitor.register_event_handler(seen.append)
    monitor.unregister_event_handler(handle)
    monitor.log_event(Event("a", datetime(2026, 1, 1), {}))
    assert seen == []


def test_event_takes_plain_values_only() -> None:
    with pytest.raises(TypeError, match="data must be str, float, int or bool"):
        Event("a", datetime(2026, 1, 1), {"x": [1]})
