"""Tensors with a mask that says which of their elements are there: `torch.masked.maskedtensor`."""
from __future__ import annotations

from retrograd.masked.maskedtensor.core import MaskedTensor, is_masked_tensor
from retrograd.masked.maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]
