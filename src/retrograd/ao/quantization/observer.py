"""Observers: modules that watch numbers go by and say which scale and zero point suit them."""
from __future__ import annotations

import functools
import warnings
from abc import ABC, abstractmethod
from typing import Any

import retrograd as torch
from retrograd import nn

__all__ = ["FixedQParamsObserver", "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver",
           "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver",
           "UniformQuantizationObserverBase", "default_debug_observer", "default_dynamic_quant_observer", "default_observer",
           "default_per_channel_weight_observer", "default_placeholder_observer", "default_weight_observer"]

EPS = torch.finfo(torch.float32).eps
PER_CHANNEL = (torch.per_channel_affine, torch.per_channel_symmetric, torch.per_channel_affine_float_qparams)
RANGES = {torch.qint8: (-128, 127), torch.int8: (-128, 127), torch.quint8: (0, 255), torch.uint8: (0, 255),
          torch.int16: (-(2 ** 15), 2 ** 15 - 1), torch.uint16: (0, 2 ** 16 - 1), torch.qint32: (-(2 ** 31), 2 ** 31 - 1),
          torch.int32: (-(2 ** 31), 2 ** 31 - 1), torch.quint4x2: (0, 15)}
UNSIGNED = (torch.quint8, torch.uint8)


class PartialWrapper:
    """A class with some of the arguments of its constructor."""

    def __init__(self, p: Any) -> None:
        self.p = p

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return repr(self.p) + "{}"

    def with_args(self, **kwargs: Any) -> PartialWrapper:
        return PartialWrapper(functools.partial(self.p, **kwargs))


class WithArguments:
    """What can be given arguments before it is made."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> PartialWrapper:
        """What makes objects of this class with these arguments."""
        return PartialWrapper(functools.partial(cls, **kwargs))


class ObserverBase(WithArguments, ABC, nn.Module):
    """What watches numbers and chooses scales for them."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abstractmethod
    def forward(self, x: Any) -> Any: ...

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any: ...


def levels(dtype: Any, quant_min: int | None, quant_max: int | None, reduce_range: bool) -> tuple[int, int]:
    """The lowest and the highest level of a dtype, or those that the program gives; of half as many if they are reduced."""
    if quant_min is None or quant_max is None:
        low, high = RANGES[dtype]
        return (low // 2, high // 2) if reduce_range and dtype in (torch.qint8, torch.int8, *UNSIGNED) else (low, high)
    return (quant_min // 2, quant_max // 2) if reduce_range else (quant_min, quant_max)


class UniformQuantizationObserverBase(ObserverBase):
    """What chooses levels of the same distance between the least and the greatest number."""

    min_val: torch.Tensor
    max_val: torch.Tensor
    eps: torch.Tensor

    def __init__(self, dtype: Any = torch.quint8, qscheme: Any = torch.per_tensor_affine, reduce_range: bool = False,
                 quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None, eps: float = EPS,
                 is_dynamic: bool = False, **kwargs: Any) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        if reduce_range:
            warnings.warn("Please use quant_min and quant_max to specify the range for observers.                     "
                          "reduce_range will be deprecated in a future release of PyTorch.", stacklevel=2)
        self.register_buffer("eps", torch.tensor([eps], **(factory_kwargs or {})))
        if qscheme not in (torch.per_tensor_affine, torch.per_tensor_symmetric, *PER_CHANNEL):
            raise AssertionError("Default Observer only works for per_tensor_affine, per_tensor_symmetric, per_channel_affine, "
                                 "per_channel_symmetric and per_channel_float_qparams quantization scheme")
        if dtype not in RANGES:
            raise AssertionError(f"Default Observer only works for {tuple(RANGES)} data type")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if quant_min is not None and quant_max is not None:
            if not quant_min <= 0 <= quant_max:
                raise AssertionError("Used-specified quantization range must include 0.")
            if quant_min >= quant_max:
                raise AssertionError("qmin must be less than qmax for user-specified quantization range.")
        self.quant_min, self.quant_max = levels(dtype, quant_min, quant_max, reduce_range)

    def _calculate_qparams(self, min_val: Any, max_val: Any) -> tuple[Any, Any]:
        """The scale and the zero point of numbers between these."""
        if min_val.numel() == 0 or (min_val.dim() == 0 and min_val == float("inf") and max_val == float("-inf")):
            warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=3)
            return torch.tensor([1.0], device=min_val.device), torch.tensor([0], device=min_val.device)
        if not bool((min_val <= max_val).all()):
            raise AssertionError(f"min {min_val} should be less than max {max_val}")
        low, high = min_val.clamp(max=0), max_val.clamp(min=0)
        steps = float(self.quant_max - self.quant_min)
        zero_point = torch.zeros(low.size(), dtype=torch.int64)
        if self.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric):
            scale = torch.max(torch.max(-low, high) / (steps / 2), self.eps)
            if self.dtype in UNSIGNED:
                middle = (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
                zero_point = zero_point.new_full(zero_point.size(), middle)
        elif self.qscheme is torch.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / steps
            scale = torch.where(scale > self.eps, scale, torch.ones_like(scale))
            zero_point = -1 * min_val / scale
        else:
            scale = torch.max((high - low) / steps, self.eps)
            zero_point = (self.quant_min - torch.round(low / scale).to(torch.int)).clamp(self.quant_min, self.quant_max)
        return scale.reshape(-1) if scale.dim() == 0 else scale, zero_point.reshape(-1) if zero_point.dim() == 0 else zero_point

    def calculate_qparams(self, **kwargs: Any) -> Any:
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and the greatest number that went by.

    >>> observer = MinMaxObserver()
    >>> observer(torch.tensor([-1.0, 3.0]))
    tensor([-1.,  3.])
    >>> observer.calculate_qparams()
    (tensor([0.0157]), tensor([64], dtype=torch.int32))
    """

    def __init__(self, dtype: Any = torch.quint8, qscheme: Any = torch.per_tensor_affine, reduce_range: bool = False,
                 quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None, eps: float = EPS,
                 is_dynamic: bool = False, **kwargs: Any) -> None:
        if qscheme in PER_CHANNEL:
            raise NotImplementedError("MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     "
                                      "and torch.per_tensor_affine.")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **(factory_kwargs or {})))

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel():
            low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
            self.min_val.copy_(torch.min(low, self.min_val))
            self.max_val.copy_(torch.max(high, self.max_val))
        return x_orig

    def reset_min_max_vals(self) -> None:
        self.min_val.copy_(torch.tensor(float("inf")))
        self.max_val.copy_(torch.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Averages the least and the greatest number of each time, the last of which counts `averaging_constant`."""

    def __init__(self, averaging_constant: float = 0.01, dtype: Any = torch.quint8, qscheme: Any = torch.per_tensor_affine,
                 reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None, eps: float = EPS,
                 is_dynamic: bool = False, **kwargs: Any) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)
        self.averaging_constant = averaging_constant

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel():
            low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
            if self.min_val != float("inf") or self.max_val != float("-inf"):
                low = self.min_val + self.averaging_constant * (low - self.min_val)
                high = self.max_val + self.averaging_constant * (high - self.max_val)
            self.min_val.copy_(low)
            self.max_val.copy_(high)
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and the greatest number of each channel."""

    def __init__(self, ch_axis: int = 0, dtype: Any = torch.quint8, qscheme: Any = torch.per_channel_affine,
                 reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
                 factory_kwargs: Any = None, eps: float = EPS, is_dynamic: bool = False, **kwargs: Any) -> None:
        if qscheme not in PER_CHANNEL:
            raise NotImplementedError("PerChannelMinMaxObserver's qscheme only support                     "
                                      "torch.per_channel_symmetric, torch.per_channel_affine and "
                                      "torch.per_channel_affine_float_qparams.")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", torch.tensor([], **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor([], **(factory_kwargs or {})))

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel():
            rows = x_orig.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(1)
            low, high = torch.aminmax(rows, dim=1)
            if self.min_val.numel():
                low, high = self._joined(low, high)
            self.min_val.resize_(low.shape).copy_(low)
            self.max_val.resize_(high.shape).copy_(high)
        return x_orig

    def _joined(self, low: Any, high: Any) -> tuple[Any, Any]:
        return torch.min(low, self.min_val), torch.max(high, self.max_val)

    def reset_min_max_vals(self) -> None:
        self.min_val.resize_(0)
        self.max_val.resize_(0)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        for name in ("min_val", "max_val"):             # channels are known since the file was written
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Averages the least and the greatest number of each channel."""

    def __init__(self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: Any = torch.quint8,
                 qscheme: Any = torch.per_channel_affine, reduce_range: bool = False, quant_min: int | None = None,
                 quant_max: int | None = None, eps: float = EPS, is_dynamic: bool = False, **kwargs: Any) -> None:
        super().__init__(ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)
        self.averaging_constant = averaging_constant

    def _joined(self, low: Any, high: Any) -> tuple[Any, Any]:
        return (self.min_val + self.averaging_constant * (low - self.min_val),
                self.max_val + self.averaging_constant * (high - self.max_val))


class FixedQParamsObserver(ObserverBase):
    """Knows the scale and the zero point from the start."""

    def __init__(self, scale: float, zero_point: int, dtype: Any = torch.quint8, qscheme: Any = torch.per_tensor_affine,
                 quant_min: int = 0, quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))

    def forward(self, X: Any) -> Any:
        return X

    def calculate_qparams(self, **kwargs: Any) -> Any:
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Watches nothing: the numbers are quantized when they come."""

    def __init__(self, dtype: Any = torch.float32, custom_op_name: str = "", compute_dtype: Any = None,
                 quant_min: int | None = None, quant_max: int | None = None, qscheme: Any = None, eps: float | None = None,
                 is_dynamic: bool = False) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps, self.custom_op = quant_min, quant_max, eps, custom_op_name
        if compute_dtype:
            self.is_dynamic = True
            warnings.warn("Please use `is_dynamic` instead of `compute_dtype`.                     `compute_dtype` will be "
                          "deprecated in a future release                     of PyTorch.", stacklevel=2)

    def forward(self, x: Any) -> Any:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class NoopObserver(ObserverBase):
    """Watches nothing."""

    def __init__(self, dtype: Any = torch.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype)
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception("calculate_qparams should not be called for NoopObserver")


class RecordingObserver(ObserverBase):
    """Keeps everything that went by."""

    def __init__(self, dtype: Any = torch.quint8) -> None:
        super().__init__(dtype=dtype)
        self.tensor_val: list[Any] = []

    def forward(self, x: Any) -> Any:
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self) -> list[Any]:
        return self.tensor_val


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True)
default_placeholder_observer, default_debug_observer = PlaceholderObserver, RecordingObserver
