"""Modules for quantization-aware training."""
from __future__ import annotations

from retrograd.ao.nn import intrinsic as intrinsic
from retrograd.ao.nn import qat as qat
from retrograd.ao.nn import quantizable as quantizable
from retrograd.ao.nn import quantized as quantized
