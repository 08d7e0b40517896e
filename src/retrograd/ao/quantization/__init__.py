"""Quantization-aware training: observers, rounding with gradients, models prepared with both; no quantized tensors."""
from __future__ import annotations

from retrograd.ao.quantization.fake_quantize import (
    FakeQuantize,
    FakeQuantizeBase,
    FixedQParamsFakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    enable_observer,
)
from retrograd.ao.quantization.fuse_modules import fuse_modules as fuse_modules
from retrograd.ao.quantization.fuse_modules import fuse_modules_qat
from retrograd.ao.quantization.observer import (
    FixedQParamsObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    RecordingObserver,
    UniformQuantizationObserverBase,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from retrograd.ao.quantization.qconfig import (
    QConfig,
    default_activation_only_qconfig,
    default_debug_qconfig,
    default_dynamic_qconfig,
    default_per_channel_qconfig,
    default_qat_qconfig,
    default_qat_qconfig_v2,
    default_qconfig,
    default_weight_only_qconfig,
    get_default_qat_qconfig,
    per_channel_dynamic_qconfig,
    qconfig_equals,
)
from retrograd.ao.quantization.quantize import (
    add_quant_dequant,
    convert,
    default_eval_fn,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    prepare,
    prepare_qat,
    propagate_qconfig_,
    quantize_dynamic,
    quantize_qat,
    refuse,
)
from retrograd.ao.quantization.quantize import quantize as quantize
from retrograd.ao.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper

get_default_qconfig = refuse        # its observers keep histograms, for static quantization

__all__ = ["DeQuantStub", "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FixedQParamsObserver",
           "FusedMovingAvgObsFakeQuantize", "MinMaxObserver", "MovingAverageMinMaxObserver",
           "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver",
           "PlaceholderObserver", "QConfig", "QuantStub", "QuantWrapper", "RecordingObserver",
           "UniformQuantizationObserverBase", "add_quant_dequant", "convert", "default_activation_only_qconfig",
           "default_debug_observer", "default_debug_qconfig", "default_dynamic_qconfig", "default_dynamic_quant_observer",
           "default_eval_fn", "default_fake_quant", "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant",
           "default_fused_wt_fake_quant", "default_observer", "default_per_channel_qconfig",
           "default_per_channel_weight_fake_quant", "default_per_channel_weight_observer", "default_placeholder_observer",
           "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_weight_fake_quant",
           "default_weight_observer", "default_weight_only_qconfig", "disable_fake_quant", "disable_observer",
           "enable_fake_quant", "enable_observer", "fuse_modules", "fuse_modules_qat", "get_default_qat_module_mappings",
           "get_default_qat_qconfig", "get_default_qconfig", "get_default_qconfig_propagation_list",
           "per_channel_dynamic_qconfig", "prepare", "prepare_qat", "propagate_qconfig_", "qconfig_equals", "quantize",
           "quantize_dynamic", "quantize_qat"]
