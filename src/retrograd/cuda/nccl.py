"""NVIDIA's collective operations, which need CUDA devices, and there are none."""
from __future__ import annotations

from typing import Any

from retrograd.cuda import needs_device

__all__ = ["all_gather", "all_reduce", "broadcast", "init_rank", "is_available", "reduce", "reduce_scatter", "unique_id",
           "version"]

SUM = 0
all_gather = all_reduce = broadcast = init_rank = reduce = reduce_scatter = unique_id = version = needs_device


def is_available(tensors: Any) -> bool:
    """Whether the tensors lie on devices that can exchange them.

    >>> is_available([])
    False
    """
    return False
