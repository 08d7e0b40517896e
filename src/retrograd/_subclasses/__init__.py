"""Tensors without data, under PyTorch's names."""
from __future__ import annotations

from retrograd._subclasses.fake_utils import CrossRefFakeMode
from retrograd.compile.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

__all__ = ["CrossRefFakeMode", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]
