"""torch.cpu: the device that is always there, with the functions that programs call on any device."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from retrograd.core import fast_kernels
from retrograd.cpu.capabilities import get_capabilities
from retrograd.cpu.streams import Stream, StreamContext, current_stream, stream

__all__ = ["Stream", "StreamContext", "current_device", "current_stream", "device_count", "empty_cache",
           "get_capabilities", "is_available",
           "is_initialized", "max_memory_allocated", "memory_allocated",
           "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device", "stream",
           "synchronize"]


def is_available() -> bool:
    """Whether the cpu is there.

    >>> is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether the cpu can be used already.

    >>> is_initialized()
    True
    """
    return True


def device_count() -> int:
    """The number of cpu devices; all cores are one.

    >>> device_count()
    1
    """
    return 1


def current_device() -> str:
    """The name of the device.

    >>> current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """There is nothing to choose from.

    >>> set_device("cpu")
    """


def synchronize(device: Any = None) -> None:
    """Computation on the cpu is done when the call returns.

    >>> synchronize()
    """


def memory_stats(device: Any = None) -> dict[str, int]:
    """Bytes of large arrays (128 KiB and more) in use, in use at most, and kept for reuse; how often a block was reused.

    The compiled core keeps freed blocks, never more than were in use at once; plain Python keeps none, and counts none.

    >>> sorted(memory_stats())
    ['allocated', 'cached', 'fresh', 'limit', 'peak', 'reused']
    """
    native = fast_kernels.native
    return native.memory_stats() if native is not None else dict.fromkeys(
        ("allocated", "peak", "cached", "reused", "fresh", "limit"), 0)


def memory_allocated(device: Any = None) -> int:
    """Bytes of large arrays in use.

    >>> memory_allocated() >= 0
    True
    """
    return memory_stats()["allocated"]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of large arrays that were in use at once.

    >>> max_memory_allocated() >= memory_allocated()
    True
    """
    return memory_stats()["peak"]


def memory_reserved(device: Any = None) -> int:
    """Bytes of large arrays in use and kept for reuse.

    >>> memory_reserved() >= memory_allocated()
    True
    """
    stats = memory_stats()
    return stats["allocated"] + stats["cached"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peak start again from what is in use.

    >>> reset_peak_memory_stats()
    >>> max_memory_allocated() == memory_allocated()
    True
    """
    if fast_kernels.native is not None:
        fast_kernels.native.reset_memory_peak()


def empty_cache() -> None:
    """Give the blocks that are kept for reuse back to the system.

    >>> empty_cache()
    >>> memory_reserved() == memory_allocated()
    True
    """
    if fast_kernels.native is not None:
        fast_kernels.native.empty_memory()


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module("retrograd.cpu.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
