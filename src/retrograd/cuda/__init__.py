"""torch.cuda without a GPU: questions are answered honestly, and what needs a device raises."""
from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from typing import Any

__all__ = ["Event", "Stream", "current_device", "current_stream", "device", "device_count", "empty_cache", "get_arch_list",
           "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "init",
           "initial_seed", "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all",
           "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats",
           "seed", "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "stream", "synchronize"]

NOT_COMPILED = "Torch not compiled with CUDA enabled"


def needs_device(*args: Any, **kwargs: Any) -> Any:
    """Stands for every function that only a device could do.

    >>> current_device()
    Traceback (most recent call last):
    AssertionError: Torch not compiled with CUDA enabled
    """
    raise AssertionError(NOT_COMPILED)


current_device = current_stream = default_stream = needs_device
get_device_capability = get_device_name = get_device_properties = needs_device
get_rng_state = set_rng_state = init = initial_seed = ipc_collect = mem_get_info = set_device = synchronize = needs_device
can_device_access_peer = needs_device


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Do something once CUDA is initialized, which never happens."""


def is_available() -> bool:
    """Whether there is a GPU to compute on.

    >>> is_available()
    False
    """
    return False


is_bf16_supported = is_initialized = is_available


def device_count() -> int:
    """The number of GPUs.

    >>> device_count()
    0
    """
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generators of all devices, of which there are none.

    >>> manual_seed(0)
    """


manual_seed_all = manual_seed


def seed() -> None:
    """Seed with something random; as `manual_seed`.

    >>> seed()
    """


seed_all = empty_cache = seed


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors occupy on a device.

    >>> memory_allocated()
    0
    """
    return 0


max_memory_allocated = max_memory_reserved = memory_reserved = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin anew to watch for the peak.

    >>> reset_peak_memory_stats()
    """


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What the allocator counts.

    >>> len(memory_stats())
    0
    """
    return OrderedDict()


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for.

    >>> get_arch_list()
    []
    """
    return []


def get_rng_state_all() -> list[Any]:
    """The random states of all devices.

    >>> get_rng_state_all()
    []
    """
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Set the random states of all devices.

    >>> set_rng_state_all([])
    """
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


class Stream:
    """A queue of work on a device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A point in a queue of work."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Event requires CUDA support")


class device:
    """A scope in which another device is the current one; -1 or None changes nothing.

    >>> with device(None): pass
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else device

    def __enter__(self) -> None:
        if self.idx != -1:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *args: object) -> None:
        pass


class StreamContext:
    """A scope in which work goes to another stream; None changes nothing.

    >>> with stream(None): pass
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            raise AssertionError(NOT_COMPILED)

    def __exit__(self, *args: object) -> None:
        pass


stream = StreamContext
ExternalStream = Stream


class CUDAGraph:
    """Work on a device that was recorded, to be done again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("Tried to instantiate dummy base class CUDAGraph: it needs a CUDA device")


class graph:
    """A scope whose work is recorded into a graph."""

    def __init__(self, cuda_graph: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class MemPool:
    """Memory of a device that is set apart."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("Tried to instantiate dummy base class _MemPool: it needs a CUDA device")


def make_graphed_callables(callables: Any, sample_args: Any, **options: Any) -> Any:
    """Functions whose work was recorded, which needs a device."""
    return CUDAGraph()


def graph_pool_handle() -> Any:
    """A pool of memory that graphs share, which needs a device."""
    raise RuntimeError("Tried to instantiate dummy base class _graph_pool_handle: it needs a CUDA device")


def is_current_stream_capturing() -> bool:
    """Whether work is being recorded.

    >>> is_current_stream_capturing()
    False
    """
    return False


class CudaError(RuntimeError):
    """An error of the CUDA driver."""


class DeferredCudaCallError(Exception):
    """An error of a call that waited for a device."""


class OutOfMemoryError(RuntimeError):
    """The memory of a device is full."""


has_half, has_magma = True, False
default_generators: tuple[Any, ...] = ()
get_sync_debug_mode = set_sync_debug_mode = set_stream = current_blas_handle = cudart = needs_device
get_device_index = caching_allocator_alloc = caching_allocator_delete = needs_device
is_tf32_supported = is_available
memory_cached = max_memory_cached = memory_allocated
reset_accumulated_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
memory_stats_as_nested_dict = memory_stats


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """What the allocator counts, as a table.

    >>> memory_summary()
    'There is no CUDA device, and so no memory of one.'
    """
    return "There is no CUDA device, and so no memory of one."


class device_of(device):
    """A scope in which the device of a tensor is the current one; it changes nothing for tensors on the cpu.

    >>> import retrograd as torch
    >>> with device_of(torch.ones(1)): pass
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def __getattr__(name: str) -> Any:
    if name in ("amp", "comm", "graphs", "jiterator", "memory", "nccl", "nvtx", "random", "streams"):
        return import_module(f"retrograd.cuda.{name}")
    if name.endswith("Tensor"):
        types = import_module("retrograd.cuda.types").TYPES
        if name in types:
            return types[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
