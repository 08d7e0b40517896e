"""Process groups and collectives of a library that has one process: all of them say that no group was initialised."""
from __future__ import annotations

import os
from datetime import timedelta
from enum import Enum
from typing import Any

from retrograd.distributed._absent import REASON, absent
from retrograd.overrides import wrap_torch_function

UNINITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
default_pg_timeout = timedelta(minutes=30)
default_pg_nccl_timeout = timedelta(minutes=10)


class DistError(RuntimeError):
    """An error of the distributed package.

    >>> issubclass(DistBackendError, DistError)
    True
    """


class DistBackendError(DistError):
    """An error of a backend."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store."""


class QueueEmptyError(DistStoreError):
    """Nothing is in the queue of a store."""


class ReduceOp(Enum):
    """How a reduction combines the values of several processes.

    >>> ReduceOp.SUM.name
    'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"


class Backend(str):
    """The name of a backend, in lower case.

    >>> Backend("NCCL")
    'nccl'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: Any) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


class GroupMember:
    """The members of a group: there is no group."""

    WORLD: Any = None
    NON_GROUP_MEMBER = -100


class group:
    """Holds the default group: there is none.

    >>> group.WORLD
    """

    WORLD: Any = None


# ---- what can be asked without a group
def is_initialized() -> bool:
    """Whether there is a default process group.

    >>> is_initialized()
    False
    """
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend is built in: none is.

    >>> is_backend_available("gloo")
    False
    """
    return False


def is_gloo_available() -> bool:
    return False


def is_mpi_available() -> bool:
    return False


def is_nccl_available() -> bool:
    return False


def is_ucc_available() -> bool:
    return False


def is_xccl_available() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    """Whether torchelastic started this process.

    >>> is_torchelastic_launched()
    False
    """
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank on this node as the launcher put it into the environment.

    >>> get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to "
                       "work, assuming you are not running in a multi-device context and want the code to run locally instead.")


# ---- what needs one
def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
    """Refused: no backend is built in."""
    name = (backend or "gloo").upper()
    raise RuntimeError(f"Distributed package doesn't have {name} built in: {REASON}.")


def destroy_process_group(group: Any = None) -> None:
    """Refused: there is nothing to destroy."""
    raise AssertionError("Process group cannot be None")


def _get_default_group() -> Any:
    raise ValueError(UNINITIALIZED)


def _needs_group(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(UNINITIALIZED)
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = "Refused: there is no process group."
    return wrap_torch_function(lambda *args, **kwargs: (*args, *kwargs.values()))(function)


NEEDS_GROUP = (
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list", "gather",
    "gather_object", "get_backend", "get_backend_config", "get_global_rank", "get_group_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "irecv", "isend", "monitored_barrier", "new_group",
    "new_subgroups", "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list", "split_group",
)
for _name in NEEDS_GROUP:
    globals()[_name] = _needs_group(_name)
CLASSES = ("BackendConfig", "FileStore", "GradBucket", "HashStore", "P2POp", "PrefixStore", "ProcessGroup", "ProcessGroupGloo",
           "ProcessGroupNCCL", "Reducer", "Store", "TCPStore", "Work")
PRIVATE = ("_new_process_group_helper", "_resolve_process_group", "_find_pg_by_ranks_and_tag", "_world", "rendezvous")
globals().update(absent(__name__, *CLASSES, *PRIVATE))
_pg_map: dict[Any, Any] = {}
_rank_not_in_group = _get_global_rank = _needs_group("get_rank")
__all__ = ["Backend", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "GroupMember", "QueueEmptyError",
           "ReduceOp", "default_pg_timeout", "destroy_process_group", "get_node_local_rank", "group", "init_process_group",
           "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
           "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", *CLASSES, *NEEDS_GROUP]
