"""Numbers, arrays and tensors as NumPy arrays."""
from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as torch


def make_np(x: Any) -> np.ndarray:
    """The values of a number, an array or a tensor.

    >>> make_np(2.0)
    array([2.])
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, torch.Tensor):
        x = x.detach().cpu()
        return (x.float() if x.dtype == torch.bfloat16 else x).numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
