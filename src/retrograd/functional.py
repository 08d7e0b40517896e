"""Functions of `torch` under the name of the module that PyTorch defines them in."""
from __future__ import annotations

from typing import Any

import retrograd as _torch

NAMES = ("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
         "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank",
         "tensordot", "unique", "unique_consecutive", "unravel_index")
__all__ = list(NAMES)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(_torch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
