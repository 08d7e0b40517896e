"""Pooling as modules."""
from __future__ import annotations

from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.modules.module import Module
from retrograd.nn.modules.utils import _ntuple, _single


class _MaxPoolNd(Module):
    """The base of max pooling."""

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
                 ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def extra_repr(self) -> str:
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")

    def _pooled(self, pool: Any, input: Any) -> Any:
        return pool(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
                    return_indices=self.return_indices)


class MaxPool1d(_MaxPoolNd):
    """Maxima of windows of sequences.

    >>> import retrograd as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[[1.0, 5.0, 2.0, 3.0]]]))
    tensor([[[5., 3.]]])
    """

    def forward(self, input: Any) -> Any:
        return self._pooled(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """Maxima of windows of images.

    >>> from retrograd import arange, nn
    >>> nn.MaxPool2d(2)(arange(4.0).reshape(1, 2, 2))
    tensor([[[3.]]])
    """

    def forward(self, input: Any) -> Any:
        return self._pooled(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """Maxima of windows of volumes.

    >>> import retrograd as torch
    >>> torch.nn.MaxPool3d(2)(torch.arange(8.0).view(1, 1, 2, 2, 2))
    tensor([[[[[7.]]]]])
    """

    def forward(self, input: Any) -> Any:
        return self._pooled(F.max_pool3d, input)


class _AvgPoolNd(Module):
    """The base of means of windows."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolOfBoxes(_AvgPoolNd):
    """Means of windows of several dimensions, with any divisor."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    pool: Any = None

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride if stride is not None else kernel_size, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Any) -> Any:
        return self.pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                         self.divisor_override)


class AvgPool1d(_AvgPoolNd):
    """Means of windows of sequences.

    >>> import retrograd as torch
    >>> torch.nn.AvgPool1d(2)(torch.tensor([[[1.0, 5.0, 2.0, 3.0]]]))
    tensor([[[3.0000, 2.5000]]])
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        super().__init__()
        stride = kernel_size if stride is None else stride
        self.kernel_size, self.stride, self.padding = map(_single, (kernel_size, stride, padding))
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Any) -> Any:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolOfBoxes):
    """Means of windows of images.

    >>> import retrograd as torch
    >>> torch.nn.AvgPool2d(2)(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]))
    tensor([[[3.]]])
    """

    pool = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolOfBoxes):
    """Means of windows of volumes.

    >>> import retrograd as torch
    >>> torch.nn.AvgPool3d(2)(torch.arange(8.0).view(1, 1, 2, 2, 2))
    tensor([[[[[3.5000]]]]])
    """

    pool = staticmethod(F.avg_pool3d)


class _AdaptiveAvgPoolNd(Module):
    """The base of means to an output size."""

    __constants__ = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows as wanted.

    >>> import retrograd as torch
    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 6.0, 9.0]]))
    tensor([[2., 6.]])
    """

    def forward(self, input: Any) -> Any:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of as many boxes of images as wanted.

    >>> import retrograd as torch
    >>> torch.nn.AdaptiveAvgPool2d(1)(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]))
    tensor([[[3.]]])
    """

    def forward(self, input: Any) -> Any:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of as many boxes of volumes as wanted.

    >>> import retrograd as torch
    >>> torch.nn.AdaptiveAvgPool3d((1, None, 2))(torch.ones(1, 4, 3, 8)).shape
    torch.Size([1, 1, 3, 2])
    """

    def forward(self, input: Any) -> Any:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(Module):
    """The base of max pooling to an output size."""

    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows as wanted.

    >>> import retrograd as torch
    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 6.0, 9.0]]))
    tensor([[3., 9.]])
    """

    def forward(self, input: Any) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of as many boxes of images as wanted.

    >>> import retrograd as torch
    >>> torch.nn.AdaptiveMaxPool2d(1)(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]))
    tensor([[[6.]]])
    """

    def forward(self, input: Any) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of as many boxes of volumes as wanted.

    >>> import retrograd as torch
    >>> torch.nn.AdaptiveMaxPool3d(1)(torch.arange(8.0).view(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    def forward(self, input: Any) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _MaxUnpoolNd(Module):
    """The base of putting maxima back."""

    rank = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = map(
            _ntuple(self.rank), (kernel_size, kernel_size if stride is None else stride, padding))

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima of sequences back where they were.

    >>> import retrograd as torch
    >>> torch.nn.MaxUnpool1d(2)(torch.tensor([[5.0, 3.0]]), torch.tensor([[1, 2]]))
    tensor([[0., 5., 3., 0.]])
    """

    rank = 1

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima of images back where they were.

    >>> import retrograd as torch
    >>> torch.nn.MaxUnpool2d(2)(torch.tensor([[[6.0]]]), torch.tensor([[[2]]]))
    tensor([[[0., 0.],
             [6., 0.]]])
    """

    rank = 2

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima of volumes back where they were.

    >>> import retrograd as torch
    >>> torch.nn.MaxUnpool3d(2)(torch.full((1, 1, 1, 1), 7.0), torch.full((1, 1, 1, 1), 3)).flatten().tolist()
    [0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0]
    """

    rank = 3

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _LPPoolNd(Module):
    """The base of pooling by norms."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def extra_repr(self) -> str:
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")


class LPPool1d(_LPPoolNd):
    """Norms of windows of sequences.

    >>> import retrograd as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0, 6.0, 8.0]]))
    tensor([[ 5., 10.]])
    """

    def forward(self, input: Any) -> Any:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """Norms of windows of images.

    >>> import retrograd as torch
    >>> torch.nn.LPPool2d(2, 2)(torch.tensor([[[1.0, 5.0], [3.0, 1.0]]]))
    tensor([[[6.]]])
    """

    def forward(self, input: Any) -> Any:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """Norms of windows of volumes.

    >>> import retrograd as torch
    >>> torch.nn.LPPool3d(3, 2)(torch.full((1, 1, 2, 2, 2), 2.0))
    tensor([[[[[4.]]]]])
    """

    def forward(self, input: Any) -> Any:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _FractionalMaxPoolNd(Module):
    """The base of fractional max pooling."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    rank = 0

    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
                 _random_samples: Any = None) -> None:
        super().__init__()
        name, repeated = type(self).__name__, _ntuple(self.rank)
        if self.rank == 3 and any([size <= 0 for size in repeated(kernel_size)]):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.kernel_size, self.return_indices = repeated(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else repeated(output_size)
        self.output_ratio = None if output_ratio is None else repeated(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all([0 < ratio < 1 for ratio in self.output_ratio]):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Any) -> Any:
        pool = getattr(F, f"fractional_max_pool{self.rank}d")
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                    _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima of windows of images at random places.

    >>> import retrograd as torch
    >>> torch.nn.FractionalMaxPool2d(2, output_ratio=0.5)(torch.ones(1, 6, 6)).shape
    torch.Size([1, 3, 3])
    """

    rank = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima of windows of volumes at random places.

    >>> import retrograd as torch
    >>> torch.nn.FractionalMaxPool3d(2, output_ratio=0.5)(torch.ones(1, 6, 6, 6)).shape
    torch.Size([1, 3, 3, 3])
    """

    rank = 3
