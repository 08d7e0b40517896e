"""`DistributedDataParallel`: one module in several processes, of which there is one."""
from __future__ import annotations

from typing import Any

from retrograd import distributed
from retrograd.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Refused, as PyTorch refuses it before a process group is initialised; programs test for it with isinstance.

    >>> import retrograd as torch
    >>> isinstance(torch.nn.Linear(1, 1), DistributedDataParallel)
    False
    """

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        distributed._get_default_group()
