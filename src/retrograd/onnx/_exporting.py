"""Whether an export runs: models ask it to do simpler things then."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_running = [False]


def is_in_onnx_export() -> bool:
    """Whether a module is being exported.

    >>> is_in_onnx_export()
    False
    """
    return _running[-1]


@contextmanager
def exporting() -> Iterator[None]:
    """Say that an export runs."""
    _running.append(True)
    try:
        yield
    finally:
        _running.pop()
