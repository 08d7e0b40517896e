"""Fully sharded data parallelism: its class raises when it is made; its settings are data."""
from __future__ import annotations

from retrograd.distributed._absent import absent
from retrograd.distributed.fsdp import api
from retrograd.distributed.fsdp.api import OptimStateKeyType

NAMES = ("FullyShardedDataParallel",)
__all__ = ["OptimStateKeyType", *NAMES]
globals().update({name: getattr(api, name) for name in api.__all__}, **absent(__name__, *NAMES))
