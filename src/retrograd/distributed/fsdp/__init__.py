"""Fully sharded data parallelism: settings as data, and names that raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent
from retrograd.distributed.fsdp import api, fully_sharded_data_parallel

ABSENT = ("CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard",
          "register_fsdp_forward_method")
__all__ = ["FullyShardedDataParallel", *ABSENT, *api.__all__]
FullyShardedDataParallel = fully_sharded_data_parallel.FullyShardedDataParallel
globals().update({name: getattr(api, name) for name in api.__all__}, **absent(__name__, *ABSENT))
