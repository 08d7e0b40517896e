"""Names of what nodes call, and nodes put into an order in which values come before their uses."""
from __future__ import annotations

import heapq
import operator
from collections import deque
from typing import Any

import retrograd as torch
from retrograd.fx._names import qualified_name
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}
NodeList = list[Node]
NodeSet = set[Node]


def get_acc_ops_name(k: Any) -> str:
    """The name of a function, or of a method that is given by name.

    >>> get_acc_ops_name("relu")
    'relu'
    """
    return k if isinstance(k, str) else qualified_name(k)


def get_node_target(submodules: Any, node: Node) -> str:
    """What a node calls: the type of a module, the path of a function or the name of a method.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x).sum())
    >>> [get_node_target({}, node) for node in traced.graph.nodes if node.op in CALLABLE_NODE_OPS]
    ['torch.relu', 'sum']
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(sorted(CALLABLE_NODE_OPS))}, but found {node.op}")
    if node.op == "call_module":
        module: Any = submodules[node.target]
        kind = getattr(module, "_base_class_origin", type(module))
        return str(get_acc_ops_name(kind))
    if node.op == "call_function":
        found = node.target
        return f"_operator.{found.__name__}" if found.__module__ == "_operator" else get_acc_ops_name(found)
    if not isinstance(node.target, str):
        raise AssertionError(f"Expected str target, got {type(node.target)}")
    return node.target


def is_node_output_tensor(node: Node) -> bool:
    """Whether a value is known to be a tensor, by what shape propagation noted."""
    kind = node.meta.get("type", None)
    return kind is not None and issubclass(kind, torch.Tensor)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Put the nodes of a module into an order in which values come before their uses; arithmetic comes early.

    >>> legalize_graph(torch.fx.symbolic_trace(lambda x: x + 1)).code.strip().splitlines()[-1]
    '    return add'
    """
    early = {operator.add, operator.mul, operator.sub, operator.floordiv, operator.truediv, operator.mod, operator.le,
             operator.lt, operator.ge, operator.gt, operator.eq, operator.ne, torch.ops.aten.sym_constrain_range.default,
             torch.ops.aten.sym_constrain_range_for_size.default, torch.ops.aten._assert_async.msg,
             torch.ops.aten.scalar_tensor.default, torch.ops.aten._assert_scalar.default}      # what assertions are made of
    nodes = list(gm.graph.nodes)
    missing = {node: len(node.all_input_nodes) for node in nodes}
    ready = deque([node for node in nodes if not missing[node]])
    order = []
    while ready:
        order.append(ready.popleft())
        for user in order[-1].users:
            missing[user] -= 1
            if not missing[user]:
                is_early = user.op == "call_function" and user.target in early
                (ready.appendleft if is_early else ready.append)(user)
    check_all(order, nodes, missing)
    return with_order(gm, order)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """The same, with nodes left where they are as far as that is possible."""
    return with_order(gm, ordered(list(gm.graph.nodes)))


def ordered(nodes: list[Node]) -> list[Node]:
    """Nodes of which each comes after those of them that it takes, left where they are as far as that is possible."""
    place = {node: i for i, node in enumerate(nodes)}
    missing = {node: sum([value in place for value in node.all_input_nodes]) for node in nodes}
    ready = [i for i, node in enumerate(nodes) if not missing[node]]
    order = []
    while ready:
        order.append(nodes[heapq.heappop(ready)])
        for user in order[-1].users:
            if user in place:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, place[user])
    check_all(order, nodes, missing)
    return order


def check_all(order: list[Node], nodes: list[Node], missing: dict[Node, int]) -> None:
    if len(order) < len(nodes):
        raise RuntimeError(f"Input graph has cycles, unable to add {[node for node in missing if missing[node] > 0]}")


def with_order(gm: GraphModule, order: list[Node]) -> GraphModule:
    """The module with a graph of copies of its nodes in another order."""
    made = Graph()
    copies: dict[Node, Node] = {}
    for node in order:
        copies[node] = made.node_copy(node, lambda value: copies[value])
    made.set_codegen(gm.graph._codegen)
    gm.graph = made
    return gm
