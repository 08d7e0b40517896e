"""torch.cuda.memory: names of `torch.cuda`."""
from __future__ import annotations

from retrograd.cuda import (
    MemPool,
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    needs_device,
    reset_peak_memory_stats,
)

__all__ = ["MemPool", "empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
           "memory_reserved", "memory_stats", "memory_summary", "reset_peak_memory_stats"]
_dump_snapshot = _record_memory_history = _snapshot = needs_device
