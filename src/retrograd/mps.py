"""torch.mps without such a device: questions are answered honestly, and what needs a device raises."""
from __future__ import annotations

from typing import Any

from retrograd import cuda as _cuda


def is_available() -> bool:
    """Whether there is such a device to compute on.

    >>> is_available()
    False
    """
    return False


is_initialized = is_bf16_supported = is_current_stream_capturing = is_available


def device_count() -> int:
    """The number of such devices.

    >>> device_count()
    0
    """
    return 0


def needs_device(*args: Any, **kwargs: Any) -> Any:
    """Stands for every function that only a device could do.

    >>> current_device()
    Traceback (most recent call last):
    AssertionError: Torch not compiled with MPS enabled
    """
    raise AssertionError("Torch not compiled with MPS enabled")


current_device = current_stream = default_stream = get_device_capability = get_device_name = needs_device
get_device_properties = needs_device
get_rng_state = initial_seed = init = mem_get_info = set_device = set_rng_state = set_stream = synchronize = needs_device
Stream = Event = needs_device
manual_seed, manual_seed_all, seed, seed_all, empty_cache = (
    _cuda.manual_seed, _cuda.manual_seed_all, _cuda.seed, _cuda.seed_all, _cuda.empty_cache)
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _cuda.memory_allocated
memory_stats, reset_peak_memory_stats = _cuda.memory_stats, _cuda.reset_peak_memory_stats
get_rng_state_all, set_rng_state_all = _cuda.get_rng_state_all, _cuda.set_rng_state_all
device, stream, StreamContext = _cuda.device, _cuda.stream, _cuda.StreamContext
current_allocated_memory = driver_allocated_memory = recommended_max_memory = memory_allocated
