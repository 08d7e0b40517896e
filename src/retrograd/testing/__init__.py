"""For tests of programs with tensors: PyTorch's `torch.testing`."""
from __future__ import annotations

from retrograd.testing._comparison import assert_allclose, assert_close
from retrograd.testing._creation import make_tensor
from retrograd.testing._file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
