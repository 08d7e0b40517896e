"""Which observers or roundings a module gets, for its results and for its weights."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.ao.quantization.fake_quantize import (
    FusedMovingAvgObsFakeQuantize,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from retrograd.ao.quantization.observer import (
    MovingAverageMinMaxObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = ["QConfig", "default_activation_only_qconfig", "default_debug_qconfig", "default_dynamic_qconfig",
           "default_per_channel_qconfig", "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig",
           "default_weight_only_qconfig", "get_default_qat_qconfig", "per_channel_dynamic_qconfig", "qconfig_equals"]


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """What makes the observer of results, and what makes that of weights.

    >>> QConfig(activation=default_observer, weight=default_weight_observer) == default_qconfig
    True
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError("QConfig received observer instance, please pass observer class instead. Use "
                             "MyObserver.with_args(x=1) to override arguments to constructor if needed")
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_debug_qconfig = QConfig(activation=default_debug_observer, weight=default_weight_observer)
default_per_channel_qconfig = QConfig(activation=default_observer, weight=default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=default_weight_observer)
per_channel_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=default_per_channel_weight_observer)
default_qat_qconfig = QConfig(activation=default_fake_quant, weight=default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(activation=default_fused_act_fake_quant, weight=default_fused_wt_fake_quant)
default_weight_only_qconfig = QConfig(activation=torch.nn.Identity, weight=default_weight_fake_quant)
default_activation_only_qconfig = QConfig(activation=default_fake_quant, weight=torch.nn.Identity)

BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


def get_default_qat_qconfig(backend: str = "x86", version: int | None = 1) -> QConfig:
    """The roundings that suit a backend, to train a model with.

    >>> get_default_qat_qconfig("fbgemm").weight is default_fused_per_channel_wt_fake_quant
    True
    """
    if backend not in BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {BACKENDS}")
    if version not in (0, 1):
        raise AssertionError(f"Version number {version} in get_default_qat_qconfig is not supported. Version number must be 0 "
                             "or 1")
    small = backend in ("fbgemm", "x86")            # whose sums overflow with all levels
    make = FusedMovingAvgObsFakeQuantize.with_args
    activation = make(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255,
                      **({"reduce_range": True} if small or version == 0 and backend == "fbgemm" else
                         {"reduce_range": False} if backend == "qnnpack" else {}))
    if backend == "qnnpack":
        return QConfig(activation=activation, weight=default_fused_wt_fake_quant if version else default_weight_fake_quant)
    return QConfig(activation=activation, weight=default_fused_per_channel_wt_fake_quant if version else
                   default_per_channel_weight_fake_quant)


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two of them make the same."""
    if q1 is None or q2 is None:
        return q1 == q2

    def parts(maker: Any) -> Any:
        inner = getattr(maker, "p", maker)
        return (getattr(inner, "func", inner), {key: parts(value) for key, value in getattr(inner, "keywords", {}).items()})
    return parts(q1.activation) == parts(q2.activation) and parts(q1.weight) == parts(q2.weight)
