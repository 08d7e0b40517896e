"""Passes over models that are only evaluated: layers fused with their normalization, dropout removed."""
from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from retrograd import nn
from retrograd.fx._symbolic_trace import Tracer, symbolic_trace
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node
from retrograd.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["UnionFind", "extract_subgraph", "fuse", "matches_module_pattern", "optimize_for_inference", "remove_dropout",
           "replace_node_module"]

FUSED: dict[tuple[type, type], Any] = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn_eval, (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn_eval,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn_eval, (nn.Linear, nn.BatchNorm1d): fuse_linear_bn_eval}


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node and its first argument call modules of two types, the argument's type first."""
    called = [n.target if isinstance(n, Node) and n.op == "call_module" else None for n in (*node.args[:1], node)]
    return len(called) == 2 and [type(modules.get(str(name))) for name in called] == list(pattern)


def replace_node_module(node: Node, modules: dict[str, Any], new_module: Any) -> None:
    """Put a module in the place of the one that a node calls."""
    if not isinstance(node.target, str):
        raise AssertionError(f"Expected str target, got {type(node.target)}")
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Any, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """Multiply the batch normalization that follows a convolution or a linear layer into its weights.

    >>> model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU()).eval()
    >>> [type(layer).__name__ for layer in fuse(model).children()]
    ['Linear', 'ReLU']
    """
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern, fused in FUSED.items():
        for node in graph.nodes:
            if matches_module_pattern(pattern, node, modules) and len(node.args[0].users) == 1:
                norm = modules[node.target]
                if norm.track_running_stats:
                    replace_node_module(node.args[0], modules, fused(modules[node.args[0].target], norm))
                    node.replace_all_uses_with(node.args[0])
                    graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: Any) -> GraphModule:
    """The model without its dropout layers."""
    traced = symbolic_trace(model)
    for node in list(traced.graph.nodes):
        if node.op == "call_module" and isinstance(traced.get_submodule(node.target), nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def extract_subgraph(orig_module: Any, nodes: list[Node], inputs: list[Node], outputs: list[Node]) -> GraphModule:
    """A module of some nodes, with what it takes and what it gives."""
    made = Graph()
    copies = {node: made.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = made.node_copy(node, copies.__getitem__)
    made.output([copies[node] for node in outputs])
    made.lint()
    return GraphModule(orig_module, made)


class UnionFind:
    """Sets of numbers that are united.

    >>> sets = UnionFind(3)
    >>> for i in range(3):
    ...     sets.make_set(i)
    >>> sets.join(0, 2), sets.find(2), sets.find(1)
    (None, 0, 1)
    """

    def __init__(self, n: int) -> None:
        self.parent: list[int | None] = [None] * n
        self.size = [0] * n

    def make_set(self, v: int) -> None:
        self.parent[v], self.size[v] = v, 1

    def find(self, v: int) -> int:
        path = []
        while self.parent[v] != v:
            path.append(v)
            above = self.parent[v]
            if above is None:
                raise AssertionError("Parent is None")
            v = above
        for below in path:
            self.parent[below] = v
        return v

    def join(self, a: int, b: int) -> int | None:
        """Unite two sets; what stands for both, if they were one already."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        small, large = (a, b) if self.size[a] < self.size[b] else (b, a)
        self.parent[small] = large
        self.size[large] += self.size[small]
        return None


def optimize_for_inference(model: Any, pass_config: dict[str, Any] | None = None, tracer: type[Tracer] = Tracer) -> Any:
    """The model with both passes; layouts stay what they are, since there is no library with layouts of its own.

    >>> model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout()).eval()
    >>> [type(layer).__name__ for layer in optimize_for_inference(model).children()]
    ['Linear']
    """
    chosen: dict[str, Any] = {"conv_bn_fuse": True, "remove_dropout": True, **(pass_config or {})}
    if chosen["conv_bn_fuse"]:
        model = fuse(model)
    if chosen["remove_dropout"]:
        model = remove_dropout(model)
    traced = tracer().trace(copy.deepcopy(model))
    return GraphModule(model, traced)
