"""NVIDIA's profiler, which is not there."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.cuda import needs_device

__all__ = ["init", "profile", "start", "stop"]


def init(output_file: str, flags: Any = None, output_mode: str = "key_value") -> None:
    """Refused, as in a PyTorch without CUDA.

    >>> init("profile.txt")
    Traceback (most recent call last):
    AssertionError: Torch not compiled with CUDA enabled
    """
    needs_device()


def start() -> None:
    """Refused: there is no device to profile."""
    needs_device()


def stop() -> None:
    """Refused: there is no device to profile."""
    needs_device()


@contextmanager
def profile() -> Iterator[None]:
    """A block that is profiled: entering it raises."""
    start()
    yield
    stop()
