"""Modules that follow each other and are quantized as one."""
from __future__ import annotations

from typing import Any

from retrograd import nn

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]


class _FusedModule(nn.Sequential):
    """Two modules as one."""

    kind: Any = None

    def __init__(self, first: Any, relu: Any) -> None:
        if type(first) is not self.kind or type(relu) is not nn.ReLU:
            raise AssertionError(f"Incorrect types for input modules{type(first)}{type(relu)}")
        super().__init__(first, relu)


class ConvReLU1d(_FusedModule):
    """A convolution and a rectifier.

    >>> len(ConvReLU1d(nn.Conv1d(1, 1, 1), nn.ReLU()))
    2
    """

    kind = nn.Conv1d


class ConvReLU2d(_FusedModule):
    """A convolution and a rectifier."""

    kind = nn.Conv2d


class ConvReLU3d(_FusedModule):
    """A convolution and a rectifier."""

    kind = nn.Conv3d


class LinearReLU(_FusedModule):
    """A linear module and a rectifier."""

    kind = nn.Linear


class BNReLU2d(_FusedModule):
    """A batch norm and a rectifier."""

    kind = nn.BatchNorm2d


class BNReLU3d(_FusedModule):
    """A batch norm and a rectifier."""

    kind = nn.BatchNorm3d


FUSED = (ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearReLU, BNReLU2d, BNReLU3d)
