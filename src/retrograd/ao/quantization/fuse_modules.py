"""Joining modules that follow each other: batch norms go into weights, rectifiers into one module with what is before them."""
from __future__ import annotations

import copy
from typing import Any

from retrograd import nn
from retrograd.ao.nn import intrinsic
from retrograd.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]

CONVS: dict[Any, Any] = {nn.Conv1d: (nn.BatchNorm1d, intrinsic.ConvReLU1d), nn.Conv2d: (nn.BatchNorm2d, intrinsic.ConvReLU2d),
                         nn.Conv3d: (nn.BatchNorm3d, intrinsic.ConvReLU3d)}
WITH_RELU: dict[Any, Any] = {nn.Linear: intrinsic.LinearReLU, nn.BatchNorm2d: intrinsic.BNReLU2d,
                             nn.BatchNorm3d: intrinsic.BNReLU3d, **{conv: fused for conv, (_, fused) in CONVS.items()}}


def joined(modules: list[Any]) -> Any:
    """One module for several, in evaluation."""
    kinds = tuple([type(module) for module in modules])
    first, last = modules[0], modules[-1]
    if kinds[0] in CONVS and kinds[1:] in ((CONVS[kinds[0]][0],), (CONVS[kinds[0]][0], nn.ReLU)):
        made = fuse_conv_bn_eval(first, modules[1])
        return CONVS[kinds[0]][1](made, last) if len(modules) == 3 else made
    if kinds == (nn.Linear, nn.BatchNorm1d):
        return fuse_linear_bn_eval(first, last)
    if len(kinds) == 2 and kinds[0] in WITH_RELU and kinds[1] is nn.ReLU:
        return WITH_RELU[kinds[0]](first, last)
    raise AssertionError(f"did not find fuser method for: {kinds} ")


def fuse_known_modules(mod_list: list[Any], is_qat: bool, additional_fuser_method_mapping: Any = None) -> list[Any]:
    """The joined module, and as many that do nothing as it stands for besides the first."""
    norms = [module for module in mod_list[1:] if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))]
    if norms and (is_qat or norms[0].training):
        raise RuntimeError("retrograd joins batch norms with what is before them in evaluation only: train them apart")
    fused = joined(mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    rest = [nn.Identity() for _ in mod_list[1:]]
    for module in rest:
        module.training = mod_list[0].training
    return [fused, *rest]


def fuse_modules(model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
                 fuse_custom_config_dict: Any = None, is_qat: bool = False) -> Any:
    """A copy of a model in evaluation, in which lists of modules, by their names, are one module each.

    >>> model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    >>> fuse_modules(model, ["0", "1"])
    Sequential(
      (0): Linear(in_features=2, out_features=2, bias=True)
      (1): Identity()
    )
    """
    if not inplace:
        model = copy.deepcopy(model)
    lists = [modules_to_fuse] if all([isinstance(name, str) for name in modules_to_fuse]) else modules_to_fuse
    for names in lists:
        made = fuser_func([model.get_submodule(name) for name in names], is_qat)
        for name, module in zip(names, made, strict=True):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, module)
    return model


def fuse_modules_qat(model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
                     fuse_custom_config_dict: Any = None) -> Any:
    """The same for a model that is to be trained."""
    return fuse_modules(model, modules_to_fuse, inplace, fuser_func, fuse_custom_config_dict, is_qat=True)
