"""Padding as modules."""
from __future__ import annotations

from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.modules.module import Module
from retrograd.nn.modules.utils import _ntuple


class _PadNd(Module):
    """The base of padding."""

    __constants__ = ["padding"]
    rank, mode = 0, "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self.rank)(padding)

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    """The base of padding with a value."""

    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    """The base of padding with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd):
    """Pads sequences with a value.

    >>> import retrograd as torch
    >>> torch.nn.ConstantPad1d((1, 2), 9.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2., 9., 9.]])
    """

    rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads images with a value.

    >>> import retrograd as torch
    >>> torch.nn.ConstantPad2d((1, 0, 0, 1), 9.0)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[9., 1., 2.],
             [9., 9., 9.]]])
    """

    rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads volumes with a value.

    >>> import retrograd as torch
    >>> torch.nn.ConstantPad3d(1, 9.0)(torch.ones(1, 1, 2, 3)).shape
    torch.Size([1, 3, 4, 5])
    """

    rank = 3


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Pads sequences with zeros.

    >>> import retrograd as torch
    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """

    rank = 1


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Pads images with zeros.

    >>> import retrograd as torch
    >>> torch.nn.ZeroPad2d((1, 0, 0, 1))(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[0., 1., 2.],
             [0., 0., 0.]]])
    """

    rank = 2


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Pads volumes with zeros.

    >>> import retrograd as torch
    >>> torch.nn.ZeroPad3d((1, 1, 0, 0, 0, 2))(torch.ones(1, 1, 2, 3)).shape
    torch.Size([1, 3, 2, 5])
    """

    rank = 3


class ReflectionPad1d(_PadNd):
    """Pads sequences with their reflection.

    >>> import retrograd as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    rank, mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """Pads images with their reflection.

    >>> import retrograd as torch
    >>> torch.nn.ReflectionPad2d((0, 0, 1, 1))(torch.tensor([[[1.0], [2.0]]])).flatten()
    tensor([2., 1., 2., 1.])
    """

    rank, mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """Pads volumes with their reflection.

    >>> import retrograd as torch
    >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    rank, mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """Pads sequences with their end values.

    >>> import retrograd as torch
    >>> torch.nn.ReplicationPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    rank, mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Pads images with their border.

    >>> import retrograd as torch
    >>> torch.nn.ReplicationPad2d((0, 0, 1, 2))(torch.tensor([[[1.0], [2.0]]])).flatten()
    tensor([1., 1., 2., 2., 2.])
    """

    rank, mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Pads volumes with their border.

    >>> import retrograd as torch
    >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    rank, mode = 3, "replicate"


class _CircularPadNd(_PadNd):
    """The base of padding with what comes at the other side."""

    mode = "circular"

    def forward(self, input: Any) -> Any:
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise ValueError(f"expected {self.rank + 1}D or {self.rank + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads sequences with what comes at the other end.

    >>> import retrograd as torch
    >>> torch.nn.CircularPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 3., 1., 2., 3., 1., 2.]])
    """

    rank = 1


class CircularPad2d(_CircularPadNd):
    """Pads images with what comes at the other side.

    >>> import retrograd as torch
    >>> torch.nn.CircularPad2d((0, 0, 1, 1))(torch.tensor([[[1.0], [2.0]]])).flatten()
    tensor([2., 1., 2., 1.])
    """

    rank = 2


class CircularPad3d(_CircularPadNd):
    """Pads volumes with what comes at the other side.

    >>> import retrograd as torch
    >>> torch.nn.CircularPad3d(1)(torch.ones(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    rank = 3
