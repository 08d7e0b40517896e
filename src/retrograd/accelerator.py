"""torch.accelerator: devices other than the CPU, of which there are none."""
from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether there is an accelerator.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """The number of accelerators.

    >>> device_count()
    0
    """
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of accelerator that the library was built for; None, there is none.

    >>> current_accelerator()
    """
    return None


def needs_accelerator(*args: Any, **kwargs: Any) -> Any:
    """Stands for every function that only an accelerator could do.

    >>> current_device_index()
    Traceback (most recent call last):
    RuntimeError: Cannot access accelerator device when none is available.
    """
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_index = current_device_idx = current_stream = set_device_index = set_device_idx = set_stream = needs_accelerator
synchronize = get_memory_info = get_device_capability = needs_accelerator


class device_index:
    """A scope in which an accelerator of this number is the current one; None changes nothing.

    >>> with device_index(None):
    ...     pass
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            needs_accelerator()

    def __exit__(self, *args: object) -> None:
        pass


def empty_cache() -> None:
    """Give memory that is kept for later back.

    >>> empty_cache()
    """


def memory_allocated(device_index: Any = None, /) -> int:
    """The bytes that tensors occupy on an accelerator.

    >>> memory_allocated()
    0
    """
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Begin anew to watch for the peak.

    >>> reset_peak_memory_stats()
    """


reset_accumulated_memory_stats = reset_peak_memory_stats
