"""For tests of programs with tensors: PyTorch's `torch.testing`."""
from __future__ import annotations

from retrograd.testing._comparison import assert_close
from retrograd.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
