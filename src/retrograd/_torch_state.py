"""State behind private names of torch._C that programs use: version counters, stashed objects, cached tensors."""
from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, counter_of

HAS_LAPACK = True
NO_XPU = NO_DEVICE = False
NO_WORKER = None
TENSOR_META = type(Tensor)


def no_cudnn() -> bool:
    return False


def no_amx() -> bool:
    """Whether the matrix units of the processor are in use."""
    return False


class WeakTensorRef:
    """A weak reference to a tensor with `expired`."""

    def __init__(self, tensor: Any) -> None:
        self.reference = weakref.ref(tensor)

    def expired(self) -> bool:
        return self.reference() is None


def saved_tensors_hooks_enabled() -> bool:
    return tls.saved_hooks_disabled is None


def set_version_counters(tensors: Sequence[Any], versions: Sequence[int]) -> None:
    if len(tensors) != len(versions):
        raise RuntimeError(f"tensors_len={len(tensors)}, versions_len={len(versions)}")
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        if tensor.is_inference():
            raise RuntimeError("Tried to call torch.autograd._unsafe_set_version() on a tensor that does not have a version "
                               "counter. Was it created in inference mode?")
        counter_of(tensor).n = version


@contextmanager
def preserve_version_counters(tensors: Any) -> Iterator[None]:
    """Do not count writes inside the block, which is right only for writes that change nothing."""
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    versions = [tensor._version for tensor in tensors]
    try:
        yield
    finally:
        set_version_counters(tensors, versions)


def stash(key: str, value: Any) -> None:
    tls.stash[key] = value


def is_stashed(key: str) -> bool:
    return key in tls.stash


def get_stashed(key: str) -> Any:
    return tls.stash[key]


# Tensors kept alive by a CUDA graph, by identity. The CPU has no such graphs, but the registry works.
cached: dict[int, Any] = {}
caching = False


def set_cached_tensors_enabled(enabled: bool) -> None:
    global caching
    caching = enabled


def add_cached_tensor(tensor: Any) -> None:
    if caching:
        key = id(tensor)
        cached[key] = weakref.ref(tensor, lambda _: cached.pop(key, None))


def remove_cached_tensor(tensor: Any) -> None:
    cached.pop(id(tensor), None)


def is_cached_tensor(tensor: Any) -> bool:
    return id(tensor) in cached
