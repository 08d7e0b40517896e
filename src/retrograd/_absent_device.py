"""What the modules of devices that never exist here share: questions are answered honestly, what needs a device raises."""
from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from retrograd import cuda

PACKAGE = cuda.__name__.partition(".")[0]


def is_available() -> bool:
    """Whether there is such a device to compute on.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """The number of such devices.

    >>> device_count()
    0
    """
    return 0


def refusal(kind: str, name: str = "needs_device") -> Callable[..., Any]:
    """A function in the place of `name`, which only a device could answer.

    >>> refusal("MPS")()
    Traceback (most recent call last):
    AssertionError: Torch not compiled with MPS enabled
    """
    def needs_device(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"Torch not compiled with {kind} enabled")

    needs_device.__name__ = needs_device.__qualname__ = name
    needs_device.__module__ = f"{PACKAGE}.{kind.lower()}"
    return needs_device


FALSE = ("is_available", "is_initialized", "is_bf16_supported", "is_current_stream_capturing")
NEEDS_DEVICE = (
    "current_device", "current_stream", "default_stream", "get_device_capability", "get_device_name", "get_device_properties",
    "get_rng_state", "initial_seed", "init", "mem_get_info", "set_device", "set_rng_state", "set_stream", "synchronize",
    "Stream", "Event")
# These do nothing without a device, as those of CUDA.
AS_CUDA = ("manual_seed", "manual_seed_all", "seed", "seed_all", "empty_cache", "memory_stats", "reset_peak_memory_stats",
           "get_rng_state_all", "set_rng_state_all", "device", "stream", "StreamContext")
NO_MEMORY = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")


def fill(module: ModuleType, kind: str) -> None:
    """Give the module of a kind of device its names."""
    for name in FALSE:
        setattr(module, name, is_available)
    for name in NEEDS_DEVICE:
        setattr(module, name, refusal(kind, name))
    for name in AS_CUDA:
        setattr(module, name, getattr(cuda, name))
    for name in NO_MEMORY:
        setattr(module, name, cuda.memory_allocated)
    module.device_count = device_count  # type: ignore[attr-defined]
