"""Fully sharded data parallelism: its class raises when it is made; its settings are data."""
from __future__ import annotations

from retrograd.distributed._absent import absent
from retrograd.distributed.fsdp import api
from retrograd.distributed.fsdp.api import OptimStateKeyType

METHODS = (
    "flatten_sharded_optim_state_dict", "fsdp_modules", "full_optim_state_dict", "get_state_dict_type", "optim_state_dict",
    "optim_state_dict_to_load", "rekey_optim_state_dict", "scatter_full_optim_state_dict", "set_state_dict_type",
    "shard_full_optim_state_dict", "sharded_optim_state_dict", "state_dict_type", "summon_full_params",
)
NAMES = ("FullyShardedDataParallel", *[f"FullyShardedDataParallel.{name}" for name in METHODS])
__all__ = ["OptimStateKeyType", *NAMES[:1]]
globals().update({name: getattr(api, name) for name in api.__all__}, **absent(__name__, *NAMES))
