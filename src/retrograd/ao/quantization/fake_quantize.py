"""Modules that round numbers to the levels of a quantized tensor while a model is trained."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.ao.quantization._fused import fused_moving_avg_obs_fake_quant
from retrograd.ao.quantization.observer import (
    PER_CHANNEL,
    RANGES,
    FixedQParamsObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PartialWrapper,
    WithArguments,
)

__all__ = ["FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize",
           "default_fake_quant", "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant",
           "default_fused_wt_fake_quant", "default_per_channel_weight_fake_quant", "default_weight_fake_quant",
           "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer"]


class FakeQuantizeBase(WithArguments, ABC, nn.Module):
    """What rounds numbers, or only watches them."""

    fake_quant_enabled: torch.Tensor
    observer_enabled: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.uint8))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.uint8))

    @abstractmethod
    def forward(self, x: Any) -> Any: ...

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any: ...

    def enable_fake_quant(self, enabled: bool = True) -> None:
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        self.enable_observer(False)


class FakeQuantize(FakeQuantizeBase):
    """Rounds numbers to levels that an observer chooses; gradients pass where a level is near enough.

    >>> module = FakeQuantize(quant_min=0, quant_max=3)
    >>> module(torch.tensor([0.0, 1.2, 3.0]))
    tensor([0., 1., 3.])
    """

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None, quant_max: int | None = None,
                 is_dynamic: bool = False, **observer_kwargs: Any) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            given = getattr(getattr(observer, "p", observer), "keywords", {})
            dtype = given.get("dtype", observer_kwargs.get("dtype", torch.quint8))
            low, high = RANGES[dtype]
            if quant_min < low:
                raise AssertionError("quant_min out of bound")
            if quant_max > high:
                raise AssertionError("quant_max out of bound")
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = made = observer(**observer_kwargs)
        self.quant_min, self.quant_max, self.is_dynamic = made.quant_min, made.quant_max, made.is_dynamic
        self.register_buffer("scale", torch.tensor([1.0], dtype=torch.float))
        floating = made.qscheme is torch.per_channel_affine_float_qparams
        self.register_buffer("zero_point", torch.tensor([0], dtype=torch.float if floating else torch.int))
        self.dtype, self.qscheme, self.ch_axis = made.dtype, made.qscheme, getattr(made, "ch_axis", -1)
        self.is_per_channel = self.qscheme in PER_CHANNEL

    def calculate_qparams(self, **kwargs: Any) -> Any:
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Any) -> Any:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero_point = self.calculate_qparams()
            for kept, found in ((self.scale, scale), (self.zero_point, zero_point)):
                kept.resize_(found.shape).copy_(found)
        if self.fake_quant_enabled[0] == 1:
            if self.is_per_channel:
                return torch.fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, self.quant_min,
                                                              self.quant_max)
            return torch.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, self.quant_min, self.quant_max)
        return X

    def extra_repr(self) -> str:
        return (f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
                f"quant_min={self.activation_post_process.quant_min}, quant_max={self.activation_post_process.quant_max}, "
                f"dtype={self.dtype}, qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, "
                f"zero_point={self.zero_point}")

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        for name in ("scale", "zero_point"):            # channels are known since the file was written
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds numbers to levels that are known from the start."""

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(f"{self.__class__.__name__}'s observer must be a {FixedQParamsObserver.__name__}")
        self.scale, self.zero_point = self.activation_post_process.scale, self.activation_post_process.zero_point

    def calculate_qparams(self, **kwargs: Any) -> Any:
        return self.scale, self.zero_point


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Watches and rounds in one step, with a moving average of the least and the greatest number."""

    def __init__(self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255,
                 **observer_kwargs: Any) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver, "
                                 f"got: {type(self.activation_post_process)}")
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.long))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.long))
        self.is_symmetric_quant = self.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric)

    def forward(self, X: Any) -> Any:
        made = self.activation_post_process
        return fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, made.min_val, made.max_val, self.scale, self.zero_point,
            made.averaging_constant, made.quant_min, made.quant_max, self.ch_axis, self.is_per_channel, self.is_symmetric_quant)

    def extra_repr(self) -> str:
        made = self.activation_post_process
        return (f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
                f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={made.quant_min}, quant_max={made.quant_max}, "
                f"qscheme={self.qscheme}, reduce_range={made.reduce_range}")


def enable_fake_quant(mod: Any) -> None:
    """For `model.apply`: round from now on."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_fake_quant(mod: Any) -> None:
    """For `model.apply`: round no more."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_observer(mod: Any) -> None:
    """For `model.apply`: watch from now on."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()


def disable_observer(mod: Any) -> None:
    """For `model.apply`: keep scales as they are."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


OF_WEIGHTS: Any = dict(quant_min=-128, quant_max=127, dtype=torch.qint8)
default_fake_quant: PartialWrapper = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=torch.quint8, qscheme=torch.per_tensor_affine,
    reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **OF_WEIGHTS, qscheme=torch.per_tensor_symmetric, reduce_range=False)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, **OF_WEIGHTS, qscheme=torch.per_channel_symmetric, reduce_range=False,
    ch_axis=0)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=torch.quint8)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **OF_WEIGHTS, qscheme=torch.per_tensor_symmetric)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, **OF_WEIGHTS, qscheme=torch.per_channel_symmetric)
