"""torch.nn.parallel: one module on several devices; where there is one device, the module itself."""
from __future__ import annotations

from retrograd.nn.parallel.data_parallel import DataParallel, data_parallel, parallel_apply, replicate
from retrograd.nn.parallel.distributed import DistributedDataParallel
from retrograd.nn.parallel.scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]
