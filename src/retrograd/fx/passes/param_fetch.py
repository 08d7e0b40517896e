"""Parameters of called modules as nodes of their own, for passes that lower modules to kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import nn
from retrograd.fx.graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name: str, target_version: int) -> str:
    """The name under which an attribute is stored in a version of a module: its own."""
    return name


ATTRIBUTES: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    nn.modules.linear.Linear: (1, ["weight", "bias"], default_matching),
    nn.modules.conv.Conv2d: (
        1, ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"], default_matching),
    nn.modules.batchnorm.BatchNorm2d: (2, ["weight", "bias", "running_mean", "running_var", "eps"], default_matching),
    nn.modules.pooling.AdaptiveAvgPool2d: (1, [], default_matching),
    nn.modules.pooling.MaxPool2d: (
        1, ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"], default_matching),
    nn.modules.activation.ReLU: (1, ["inplace"], default_matching),
}


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """The attributes that a kernel for a module needs.

    >>> sorted(extract_attrs_for_lowering(nn.ReLU()))
    ['inplace', 'name']
    """
    found: dict[str, Any] = {"name": type(mod).__qualname__}
    if type(mod) not in ATTRIBUTES:
        raise RuntimeError(f"{found['name']} is not in the list of modules whose attributes can be extracted: "
                           f"{[kind.__name__ for kind in ATTRIBUTES]}")
    version, names, stored = ATTRIBUTES[type(mod)]
    if mod._version < version:
        raise RuntimeError(f"attributes of version {mod._version} of {found['name']} cannot be extracted")
    found.update({name: getattr(mod, stored(name, mod._version)) for name in names})
    return found


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Give the nodes that call modules the attributes of these, as `attrs_for_lowering`."""
    modules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            called = modules[node.target]
            if isinstance(called, GraphModule):
                lift_lowering_attrs_to_nodes(called)
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(called)  # type: ignore[attr-defined]
