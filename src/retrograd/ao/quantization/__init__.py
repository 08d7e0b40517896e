"""torch.ao.quantization for programs that import it: marks that change nothing without quantization; quantizing is refused."""
from __future__ import annotations

from typing import Any, NoReturn

from retrograd import nn

__all__ = ["DeQuantStub", "FakeQuantizeBase", "ObserverBase", "QuantStub", "QuantWrapper", "convert", "fuse_modules",
           "fuse_modules_qat", "get_default_qat_qconfig", "get_default_qconfig", "prepare", "prepare_qat", "quantize",
           "quantize_dynamic", "quantize_qat"]


class QuantStub(nn.Module):
    """A place where quantized computation begins; without quantization its input passes through.

    >>> QuantStub()(3)
    3
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """A place where quantized computation ends; without quantization its input passes through."""


class QuantWrapper(nn.Module):
    """A module between two stubs."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))


class ObserverBase(nn.Module):
    """What watches the range of values; a base for classes of programs."""

    def __init__(self, dtype: Any = None, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic


class FakeQuantizeBase(nn.Module):
    """What rounds values as quantization would; a base for classes of programs."""


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Stands for everything that makes quantized modules.

    >>> quantize(None)
    Traceback (most recent call last):
    RuntimeError: retrograd has no quantized tensors, and so no quantized modules
    """
    raise RuntimeError("retrograd has no quantized tensors, and so no quantized modules")


convert = fuse_modules = fuse_modules_qat = get_default_qconfig = get_default_qat_qconfig = prepare = prepare_qat = refuse
quantize = quantize_dynamic = quantize_qat = default_qconfig = refuse
