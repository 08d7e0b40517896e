"""The old name of `torch.ao.quantization`."""
from __future__ import annotations

from retrograd.ao.quantization import (
    DeQuantStub,
    QuantStub,
    QuantWrapper,
    convert,
    fuse_modules,
    get_default_qconfig,
    prepare,
    quantize,
    quantize_dynamic,
)

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper", "convert", "fuse_modules", "get_default_qconfig", "prepare", "quantize",
           "quantize_dynamic"]
