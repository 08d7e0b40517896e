"""Streams of the cpu: everything is done when its call returns, so that there is nothing to wait for."""
from __future__ import annotations

from typing import Any


class Stream:
    """A stream, under which nothing changes.

    >>> stream = Stream()
    >>> stream.wait_stream(current_stream())
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Everything in the other stream is done."""

    def record_event(self) -> None:
        """There are no events to record."""

    def wait_event(self, event: Any) -> None:
        """Every event has happened."""


DEFAULT = Stream()


class Current:
    """The stream that is in force."""

    stream: Any = DEFAULT


def current_stream(device: Any = None) -> Stream:
    """The stream that is in force."""
    return Current.stream


class StreamContext:
    """A block with another stream in force.

    >>> mine = Stream()
    >>> with StreamContext(mine):
    ...     current_stream() is mine
    True
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        self.before = Current.stream
        if self.stream is not None:
            Current.stream = self.stream

    def __exit__(self, *args: Any) -> None:
        Current.stream = self.before


def stream(stream: Any) -> StreamContext:
    """A block with another stream in force."""
    return StreamContext(stream)
