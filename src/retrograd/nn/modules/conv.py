"""Convolutions as modules."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.modules.lazy import LazyModuleMixin
from retrograd.nn.modules.module import Module
from retrograd.nn.modules.utils import _ntuple, _reverse_repeat_tuple
from retrograd.nn.parameter import Parameter, UninitializedParameter


class _ConvNd(Module):
    """What all convolutions share."""

    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
                     "kernel_size"]
    rank = 0
    transposed = False
    weight: Any
    bias: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
                 output_padding: Any, groups: int, bias: bool, padding_mode: str, device: Any, dtype: Any) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        rank, repeated = self.rank, _ntuple(self.rank)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.dilation = (repeated(v) for v in (kernel_size, stride, dilation))
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string '{padding}', should be one of {{'same', 'valid'}}")
            if padding == "same" and any([s != 1 for s in self.stride]):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = {"zeros", "reflect", "replicate", "circular"}
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.padding: Any = padding if isinstance(padding, str) else repeated(padding)
        self.output_padding, self.groups, self.padding_mode = repeated(output_padding), groups, padding_mode
        if isinstance(self.padding, str):
            self._reversed_padding_repeated_twice: Any = [0, 0] * rank
            if padding == "same":
                for d, k, i in zip(self.dilation, self.kernel_size, range(rank - 1, -1, -1), strict=True):
                    total = d * (k - 1)
                    self._reversed_padding_repeated_twice[2 * i] = total // 2
                    self._reversed_padding_repeated_twice[2 * i + 1] = total - total // 2
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(self.padding, 2)
        self.weight = Parameter(torch.empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        into, out = self.in_channels, self.out_channels
        channels = (into, out // self.groups) if self.transposed else (out, into // self.groups)
        return (*channels, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        zeros, ones = (0,) * len(self.stride), (1,) * len(self.stride)
        for name, value, usual in (("padding", self.padding, zeros), ("dilation", self.dilation, ones),
                                   ("output_padding", self.output_padding, zeros), ("groups", self.groups, 1)):
            if value != usual:
                parts.append(f"{name}={value}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Plain(_ConvNd):
    """The base of convolutions that are not transposed."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode,
                         device,
                         dtype)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        convolve = getattr(F, f"conv{self.rank}d")
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return convolve(padded, weight, bias, self.stride, (0,) * self.rank, self.dilation, self.groups)
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Plain):
    """Convolution of sequences (N, C, L).

    >>> import retrograd as torch
    >>> torch.nn.Conv1d(4, 8, kernel_size=3, padding=1)(torch.ones(1, 4, 10)).shape
    torch.Size([1, 8, 10])
    """

    rank = 1


class Conv2d(_Plain):
    """Convolution of images (N, C, H, W).

    >>> from retrograd import nn, ones
    >>> nn.Conv2d(1, 2, 3, padding=1)(ones(1, 1, 4, 4)).shape
    torch.Size([1, 2, 4, 4])
    """

    rank = 2


class Conv3d(_Plain):
    """Convolution of volumes (N, C, D, H, W).

    >>> import retrograd as torch
    >>> torch.nn.Conv3d(1, 2, kernel_size=2)(torch.ones(1, 1, 3, 4, 5)).shape
    torch.Size([1, 2, 2, 3, 4])
    """

    rank = 3


class _ConvTransposeNd(_ConvNd):
    """The base of transposed convolutions."""

    transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
                 device: Any = None, dtype: Any = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
                         padding_mode, device, dtype)

    def _output_padding(self, input: Any, output_size: Any) -> Any:
        """The padding that gives the wanted size."""
        if output_size is None:
            return self.output_padding
        rank = self.rank
        batched = input.dim() == rank + 2
        if len(output_size) == rank + 2 - (not batched):
            output_size = output_size[1 + batched:]
        if len(output_size) != rank:
            raise ValueError(f"ConvTranspose{rank}D: for {input.dim()}D input, output_size must have {rank} or "
                             f"{rank + 1 + batched} elements (got {len(output_size)})")
        sizes = input.shape[1 + batched:]
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in
                 zip(sizes, self.stride, self.padding, self.dilation, self.kernel_size, strict=True)]
        most = [m + s - 1 for m, s in zip(least, self.stride, strict=True)]
        for wanted, low, high in zip(output_size, least, most, strict=True):
            if not low <= wanted <= high:
                raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                                 f"(for an input of {input.size()[2:]})")
        return [wanted - low for wanted, low in zip(output_size, least, strict=True)]

    def forward(self, input: Any, output_size: Any = None) -> Any:
        extra = self._output_padding(input, output_size)
        return getattr(F, f"conv_transpose{self.rank}d")(input, self.weight, self.bias, self.stride, self.padding, extra,
                                                         self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of sequences.

    >>> import retrograd as torch
    >>> torch.nn.ConvTranspose1d(4, 2, kernel_size=2, stride=2)(torch.ones(1, 4, 5)).shape
    torch.Size([1, 2, 10])
    """

    rank = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of images.

    >>> import retrograd as torch
    >>> torch.nn.ConvTranspose2d(1, 1, kernel_size=2, stride=2)(torch.ones(1, 1, 3, 4)).shape
    torch.Size([1, 1, 6, 8])
    """

    rank = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of volumes.

    >>> import retrograd as torch
    >>> torch.nn.ConvTranspose3d(1, 1, kernel_size=2)(torch.ones(1, 1, 2, 3, 4)).shape
    torch.Size([1, 1, 3, 4, 5])
    """

    rank = 3


class _LazyConvXdMixin(LazyModuleMixin):
    """What lazy convolutions share: in_channels comes from the first input."""

    def _set_lazily(self: Any, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        """Draw new parameters, if their shapes are known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any, *args: Any, **kwargs: Any) -> None:
        """Take in_channels from the input."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self: Any, input: Any) -> int:
        single = self._get_num_spatial_dims() + 1
        if input.dim() not in (single, single + 1):
            raise RuntimeError(f"Expected {single}D (unbatched) or {single + 1}D (batched) input to {type(self).__name__}, but "
                               f"got input of size: {input.shape}")
        return int(input.shape[input.dim() - single])

    def _get_num_spatial_dims(self: Any) -> int:
        return int(self.rank)


class _LazyPlain(_LazyConvXdMixin):
    """The base of lazy convolutions that are not transposed."""

    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._set_lazily(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConvXdMixin):
    """The base of lazy transposed convolutions."""

    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                 groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._set_lazily(out_channels, bias, device, dtype)


class LazyConv1d(_LazyPlain, Conv1d):
    """A Conv1d whose in_channels comes from its first input.

    >>> import retrograd as torch
    >>> torch.nn.LazyConv1d(3, 2)(torch.ones(1, 2, 5)).shape
    torch.Size([1, 3, 4])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlain, Conv2d):
    """A Conv2d whose in_channels comes from its first input.

    >>> import retrograd as torch
    >>> torch.nn.LazyConv2d(3, 2)(torch.ones(1, 2, 5, 5)).shape
    torch.Size([1, 3, 4, 4])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlain, Conv3d):
    """A Conv3d whose in_channels comes from its first input.

    >>> import retrograd as torch
    >>> torch.nn.LazyConv3d(3, 2)(torch.ones(1, 2, 5, 5, 5)).shape
    torch.Size([1, 3, 4, 4, 4])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d whose in_channels comes from its first input.

    >>> import retrograd as torch
    >>> torch.nn.LazyConvTranspose1d(3, 2)(torch.ones(1, 2, 5)).shape
    torch.Size([1, 3, 6])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d whose in_channels comes from its first input.

    >>> import retrograd as torch
    >>> torch.nn.LazyConvTranspose2d(3, 2)(torch.ones(1, 2, 5, 5)).shape
    torch.Size([1, 3, 6, 6])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d whose in_channels comes from its first input.

    >>> import retrograd as torch
    >>> torch.nn.LazyConvTranspose3d(3, 2)(torch.ones(1, 2, 5, 5, 5)).shape
    torch.Size([1, 3, 6, 6, 6])
    """

    cls_to_become = ConvTranspose3d
