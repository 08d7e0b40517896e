"""Batch norms that keep no running statistics, where PyTorch keeps them."""
from __future__ import annotations

from retrograd.transforms.modules import forget_statistics as batch_norm_without_running_stats
from retrograd.transforms.modules import replace_all_batch_norm_modules_

__all__ = ["batch_norm_without_running_stats", "replace_all_batch_norm_modules_"]
