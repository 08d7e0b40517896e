"""Modules whose weights are rounded to levels before they are used."""
from __future__ import annotations

from typing import Any, Self

import retrograd.nn.functional as F
from retrograd import nn

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]


class Rounded:
    """The class of a module whose `qconfig` says how its weights are rounded."""

    _FLOAT_MODULE: Any
    weight_fake_quant: Any

    def take(self, qconfig: Any) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The same module, with its own parameters."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        made = cls(**cls.arguments(mod), bias=mod.bias is not None, qconfig=mod.qconfig)    # type: ignore[call-arg]
        made.weight, made.bias = mod.weight, mod.bias                                       # type: ignore[attr-defined]
        made.training = mod.training                                                        # type: ignore[attr-defined]
        return made

    @staticmethod
    def arguments(mod: Any) -> dict[str, Any]:
        names = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")
        return {name: getattr(mod, name) for name in names}


class Linear(Rounded, nn.Linear):
    """A linear module with rounded weights.

    >>> from retrograd.ao.quantization import default_qat_qconfig
    >>> Linear(2, 1, qconfig=default_qat_qconfig).weight_fake_quant.qscheme
    torch.per_tensor_symmetric
    """

    _FLOAT_MODULE = nn.Linear

    def __init__(self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: Any = None,
                 dtype: Any = None) -> None:
        nn.Linear.__init__(self, in_features, out_features, bias, device=device, dtype=dtype)
        self.take(qconfig)

    @staticmethod
    def arguments(mod: Any) -> dict[str, Any]:
        return {"in_features": mod.in_features, "out_features": mod.out_features}

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)


class RoundedConvolution(Rounded):
    """What the convolutions have in common."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", qconfig: Any = None,
                 device: Any = None, dtype: Any = None) -> None:
        self._FLOAT_MODULE.__init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
                                    padding_mode, device=device, dtype=dtype)
        self.take(qconfig)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)    # type: ignore[attr-defined]


class Conv1d(RoundedConvolution, nn.Conv1d):
    """A convolution with rounded weights."""

    _FLOAT_MODULE = nn.Conv1d


class Conv2d(RoundedConvolution, nn.Conv2d):
    """A convolution with rounded weights."""

    _FLOAT_MODULE = nn.Conv2d


class Conv3d(RoundedConvolution, nn.Conv3d):
    """A convolution with rounded weights."""

    _FLOAT_MODULE = nn.Conv3d
