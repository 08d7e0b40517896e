"""Types of nodes, from the annotations of the functions and modules that they call."""
from __future__ import annotations

import inspect
import typing
from typing import Any

import retrograd as torch
from retrograd.fx.interpreter import Transformer
from retrograd.fx.proxy import Proxy
from retrograd.nn import functional

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Give nodes the types that functions of `nn.functional` and modules of `nn` are annotated to return, attributes theirs.

    >>> import retrograd as torch
    >>> class Scaled(torch.nn.Module):
    ...     scale = 2.0
    ...     def forward(self, x):
    ...         return x
    >>> module = Scaled()
    >>> graph = torch.fx.Graph()
    >>> _ = graph.output(graph.get_attr("scale"))
    >>> made = AnnotateTypesWithSchema(torch.fx.GraphModule(module, graph)).transform()
    >>> [node.type for node in made.graph.nodes if node.op == "get_attr"]
    [<class 'float'>]
    """

    def __init__(self, module: Any, annotate_functionals: bool = True, annotate_modules: bool = True,
                 annotate_get_attrs: bool = True) -> None:
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        made: Proxy = super().call_function(target, args, kwargs)
        if self.annotate_functionals and getattr(functional, getattr(target, "__name__", ""), None) is target:
            made.node.type = made.node.type or returned_type(target)
        return made

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        made: Proxy = super().call_module(target, args, kwargs)
        module = self.fetch_attr(target)
        if self.annotate_modules and getattr(torch.nn, type(module).__name__, None) is type(module):
            made.node.type = made.node.type or returned_type(module.forward)
        return made

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        made = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            made.node.type = made.node.type or type_of_value(self.attribute(target))
        return made

    def attribute(self, target: str) -> Any:
        value: Any = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonextent target {'.'.join(parts[:i])}!")
            value = getattr(value, part)
        return value


def returned_type(function: Any) -> Any:
    """What a function is annotated to return; None if it is not, or for anything."""
    try:
        found = typing.get_type_hints(inspect.unwrap(function)).get("return")
    except (NameError, TypeError):
        return None
    return None if found is Any else found


def type_of_value(value: Any) -> Any:
    """The type of an attribute as TorchScript sees it; None for what it has no type for."""
    if isinstance(value, torch.Tensor):
        return torch.Tensor
    return type(value) if isinstance(value, (bool, int, float, complex, str)) else None
