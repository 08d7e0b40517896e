"""What of PyTorch's quantized modules works on float tensors."""
from __future__ import annotations

from retrograd.ao.nn.quantized import modules as modules
from retrograd.ao.nn.quantized.modules import FloatFunctional, FXFloatFunctional
from retrograd.nn import MaxPool2d as MaxPool2d

__all__ = ["FXFloatFunctional", "FloatFunctional"]
