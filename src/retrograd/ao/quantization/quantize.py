"""Preparing a model: observers or roundings for the results of its modules, roundings for its weights."""
from __future__ import annotations

import copy
from typing import Any, NoReturn

from retrograd import nn
from retrograd.ao.nn import intrinsic, qat
from retrograd.ao.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper

__all__ = ["add_quant_dequant", "convert", "default_eval_fn", "get_default_qat_module_mappings",
           "get_default_qconfig_propagation_list", "prepare", "prepare_qat", "propagate_qconfig_", "quantize",
           "quantize_dynamic", "quantize_qat"]

QAT: dict[Any, Any] = {nn.Conv2d: qat.Conv2d, nn.Conv3d: qat.Conv3d, nn.Linear: qat.Linear}
# Modules whose results are observed: those that have a quantized form.
OBSERVED: tuple[Any, ...] = (
    nn.ELU, nn.Hardswish, nn.LeakyReLU, nn.PReLU, nn.ReLU6, nn.BatchNorm2d, nn.BatchNorm3d, nn.Conv1d, nn.Conv2d, nn.Conv3d,
    nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, nn.Dropout, nn.InstanceNorm1d, nn.InstanceNorm2d,
    nn.InstanceNorm3d, nn.Linear, nn.GroupNorm, nn.LayerNorm, nn.GRU, nn.GRUCell, nn.LSTM, nn.LSTMCell, nn.RNNCell,
    nn.Embedding, nn.EmbeddingBag, nn.Sequential, QuantStub, DeQuantStub, *QAT.values(), *intrinsic.FUSED)


def get_default_qconfig_propagation_list() -> set[Any]:
    """The classes of modules whose results are observed."""
    return set(OBSERVED)


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """What stands for a module while a model is trained with rounded weights."""
    return dict(QAT)


def propagate_qconfig_(module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None) -> None:
    """Give every module below `module` its `qconfig`: that of its name, of its class, or of the module it is in."""
    spread(module, qconfig_dict or {}, None, "")


def spread(module: Any, given: dict[Any, Any], inherited: Any, prefix: str) -> None:
    found = given.get(type(module), inherited)
    found = given.get(prefix, found)
    module.qconfig = found = getattr(module, "qconfig", found)
    for name, child in module.named_children():
        spread(child, given, found, f"{prefix}.{name}" if prefix else name)


def observe(self: Any, inputs: Any, output: Any) -> Any:
    """The hook of modules whose results are observed."""
    return self.activation_post_process(output)


def attach(module: Any) -> None:
    if getattr(module, "qconfig", None) is not None and not isinstance(module, DeQuantStub):
        module.add_module("activation_post_process", module.qconfig.activation())
        module.register_forward_hook(observe, prepend=True)


def add_observers(module: Any, whole: tuple[Any, ...]) -> None:
    """Attach observers to the modules below `module` that have no others inside, or whose class is in `whole`."""
    for child in module.children():
        if type(child) is nn.Dropout:
            continue
        if isinstance(child, intrinsic._FusedModule) or type(child) in whole:
            attach(child)
        else:
            add_observers(child, whole)
    if not list(module.children()) and not isinstance(module, nn.Sequential) and type(module) in OBSERVED:
        attach(module)


def prepare(model: Any, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: Any = None,
            prepare_custom_config_dict: Any = None) -> Any:
    """A copy of a model that watches the results of its modules; each has its `qconfig`, or that of the module it is in.

    >>> from retrograd.ao.quantization.qconfig import default_qconfig
    >>> model = nn.Sequential(nn.Linear(2, 1))
    >>> model.qconfig = default_qconfig
    >>> prepare(model)[0]
    Linear(
      in_features=2, out_features=1, bias=True
      (activation_post_process): MinMaxObserver(min_val=inf, max_val=-inf)
    )
    """
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any([getattr(module, "qconfig", None) for module in model.modules()]):
        raise AssertionError("None of the submodule got qconfig applied. Make sure you passed correct configuration through "
                             "`qconfig_dict` or by assigning the `.qconfig` attribute directly on submodules")
    add_observers(model, tuple(observer_non_leaf_module_list or ()))
    return model


def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """A copy of a model to be trained with weights and results that are rounded as its `qconfig` says."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    if not inplace:
        model = copy.deepcopy(model)
    mapping = QAT if mapping is None else mapping
    propagate_qconfig_(model)
    swap(model, mapping)
    return prepare(model, inplace=True, observer_non_leaf_module_list=set(mapping.values()))


def swap(module: Any, mapping: dict[Any, Any]) -> None:
    for name, child in list(module.named_children()):
        if type(child) in mapping and getattr(child, "qconfig", None) is not None:
            made = mapping[type(child)].from_float(child)
            made._forward_hooks, made._forward_pre_hooks = child._forward_hooks, child._forward_pre_hooks
            module._modules[name] = made
        else:
            swap(child, mapping)


def add_quant_dequant(module: Any) -> Any:
    """Wrap every module with a `qconfig` and no others inside."""
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in list(module.named_children()):
        module._modules[name] = add_quant_dequant(child)
    return module


def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Run a model over pairs of data and targets."""
    for data, _ in calib_data:
        model(data)


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Stands for everything that makes quantized modules.

    >>> convert(None)
    Traceback (most recent call last):
    RuntimeError: retrograd has no quantized tensors, and so no quantized modules
    """
    raise RuntimeError("retrograd has no quantized tensors, and so no quantized modules")


convert = quantize = quantize_dynamic = quantize_qat = refuse
