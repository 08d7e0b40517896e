"""Calls to other processes: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = ("BackendType", "BackendType.TENSORPIPE", "RRef", "RpcBackendOptions", "TensorPipeRpcBackendOptions", "WorkerInfo",
         "functions", "get_worker_info", "init_rpc", "remote", "rpc_async", "rpc_sync", "shutdown")
__all__ = ["is_available", *[name for name in NAMES if "." not in name]]
globals().update(absent(__name__, *NAMES))


def is_available() -> bool:
    """Whether other processes can be called: they cannot.

    >>> is_available()
    False
    """
    return False
