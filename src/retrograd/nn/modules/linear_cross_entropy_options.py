"""How a linear cross entropy is cut into chunks."""
from __future__ import annotations

import dataclasses
from typing import Any

import retrograd as torch

__all__ = ["LinearCrossEntropyOptions"]


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """The size of chunks of the batch, given or found by a method; what accumulates is always as precise as the input.

    >>> import retrograd as torch
    >>> loss = torch.nn.LinearCrossEntropyLoss(8, 100, options=torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2))
    >>> loss(torch.ones(5, 8), torch.arange(5)).shape
    torch.Size([])
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, torch.float16, torch.bfloat16, torch.float32, torch.float64):
            raise ValueError("acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, "
                             f"got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically.")

    def _adjust(self, num_batches: int, in_features: int, num_classes: int, dtype: Any, device: Any = None) -> Any:
        """The options for given sizes, with nothing left to choose."""
        half = dtype in (torch.float16, torch.bfloat16)
        method = self.chunking_method
        if method == "auto":
            method = None if self.batch_chunk_size is not None else "aspect_ratio" if half else "aspect_ratio:2"
        size = num_batches if self.batch_chunk_size is None else min(self.batch_chunk_size, num_batches)
        if method is not None:
            factor = int(method.partition(":")[2] or 1)
            rows = -(-num_batches // -(-num_classes // in_features))        # as many logits as the input has numbers
            size = min((1 << (rows - 1).bit_length()) // factor, num_batches)
            if self.batch_chunk_size not in (None, size):
                raise ValueError(f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{method}') give different "
                                 f"chunk sizes ({self.batch_chunk_size} vs {size}); pass only one.")
        policy = self.acc_policy if self.acc_policy != "auto" else "accurate" if half else "compact"
        wide = torch.float32 if half and self.acc_policy == "auto" else dtype
        return dataclasses.replace(self, acc_policy=policy, chunking_method=method, batch_chunk_size=max(1, size),
                                   acc_dtype=wide if self.acc_dtype is None else self.acc_dtype)
