"""Function transforms: PyTorch's names of `torch.func`."""
from __future__ import annotations

from retrograd.transforms.vmap import vmap

__all__ = ["vmap"]
