"""One spelling for calls: arguments by the names of the signature, tensor functions as operators."""
from __future__ import annotations

import operator
from typing import Any

import retrograd as torch
from retrograd.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
from retrograd.fx.interpreter import Transformer
from retrograd.fx.node import Node, map_aggregate
from retrograd.fx.operator_schemas import create_type_hint, normalize_function, normalize_module
from retrograd.fx.proxy import Proxy

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Write out the arguments of functions and modules with their defaults: by name, or by position where they were given so.

    The `"type"` in a node's `meta` chooses among overloads.

    >>> import retrograd as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.nn.functional.relu(x))
    >>> [dict(node.kwargs) for node in NormalizeArgs(traced).transform().graph.nodes if node.op == "call_function"]
    [{'input': x, 'inplace': False}]
    """

    def __init__(self, module: Any, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Any, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def type_of(value: Any) -> Any:
            return n.meta.get("type") if isinstance(value, Node) else type(value)
        if n.op == "call_function":
            types = tuple([create_type_hint(kind) for kind in map_aggregate(n.args, type_of)])
            out = self.call_function(n.target, args, kwargs, types, {name: type_of(value) for name, value in kwargs.items()})
        else:
            out = super().run_node(n)
        if n.op != "output":
            self.node_map[out] = n
            out.node.meta, out.node.type = n.meta, n.type
        return out

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], arg_types: Any = None,
                      kwarg_types: Any = None) -> Proxy:
        made = normalize_function(target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs)
        return super().call_function(target, *(made or (args, kwargs)))

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        made = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(made or (args, kwargs)))


class NormalizeOperators(AnnotateTypesWithSchema):
    """Write calls of arithmetic and comparison functions with two arguments as the operators they stand for.

    >>> import retrograd as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.add(x, 1))
    >>> [node.target.__name__ for node in NormalizeOperators(traced).transform().graph.nodes if node.op == "call_function"]
    ['add']
    """

    binary_magic_method_remap: dict[Any, Any] = {
        torch.add: operator.add, torch.mul: operator.mul, torch.sub: operator.sub, torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv, torch.remainder: operator.mod, torch.eq: operator.eq, torch.ne: operator.ne,
        torch.lt: operator.lt, torch.le: operator.le, torch.gt: operator.gt, torch.ge: operator.ge,
    }

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        if target in self.binary_magic_method_remap and len(args) == 2:
            return super().call_function(self.binary_magic_method_remap[target], args, {})
        return super().call_function(target, args, kwargs)
