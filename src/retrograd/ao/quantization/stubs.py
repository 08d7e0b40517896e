"""Marks where quantized computation begins and ends."""
from __future__ import annotations

from typing import Any

from retrograd import nn

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class _Stub(nn.Module):
    """What passes its input through until it is converted."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class QuantStub(_Stub):
    """A place where quantized computation begins; without quantization its input passes through.

    >>> QuantStub()(3)
    3
    """


class DeQuantStub(_Stub):
    """A place where quantized computation ends; without quantization its input passes through."""


class QuantWrapper(nn.Module):
    """A module between two stubs."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.quant, self.dequant, self.module = QuantStub(qconfig), DeQuantStub(qconfig), module
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))
