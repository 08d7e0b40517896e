"""torch.distributed of a library that computes in one process: it says so, and its names can be imported.

    >>> import retrograd.distributed as dist
    >>> dist.is_available(), dist.is_initialized()
    (False, False)
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

from retrograd.distributed import distributed_c10d
from retrograd.distributed.distributed_c10d import _get_default_group

__all__ = ["is_available", *distributed_c10d.__all__]
globals().update({name: getattr(distributed_c10d, name) for name in distributed_c10d.__all__})
LATER = ("algorithms", "autograd", "checkpoint", "constants", "device_mesh", "elastic", "fsdp", "launcher", "nn", "optim",
         "pipelining", "rendezvous", "rpc", "tensor")


def is_available() -> bool:
    """Whether processes can work together: they cannot.

    >>> is_available()
    False
    """
    return False


def __getattr__(name: str) -> Any:
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(import_module(f"{__name__}.device_mesh"), name)
    if name in LATER:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
