"""split_module: one graph as several, each a submodule."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule, copy_attribute
from retrograd.fx.node import Node, map_arg
from retrograd.nn import Module

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes of one submodule, what they need from outside and what others need of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.needs: dict[str, None] = {}          # other partitions that must run before


def split_module(m: GraphModule, root_m: Module | None, split_callback: Callable[[Node], Any], qualname_map: Any = None,
                 keep_original_order: bool | None = False, keep_original_node_name: bool | None = False,
                 keep_original_input_name: bool = True) -> GraphModule:
    """Split a module: nodes for which `split_callback` gives the same value come into one submodule.

    >>> import retrograd as torch
    >>> model = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1) * 2)
    >>> split = split_module(model, model, lambda node: "late" if node.name == "mul" else "early")
    >>> [node.name for node in split.graph.nodes]
    ['x', 'submod_early', 'submod_late', 'output']
    >>> split(torch.ones(1))
    tensor([4.])
    """
    root_m = m if root_m is None else root_m
    partitions: dict[str, Partition] = {}
    owner: dict[Node, Partition] = {}
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            name = str(split_callback(node))
            owner[node] = partitions.setdefault(name, Partition(name))
            owner[node].nodes.append(node)
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            if used in owner and owner.get(node) is not owner[used]:
                owner[used].outputs[used] = None
            if node in owner and owner.get(used) is not owner[node]:
                owner[node].inputs[used] = None
                if used in owner:
                    owner[node].needs[owner[used].name] = None
    whole = Graph()
    values: dict[Node, Any] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            values[node] = whole.node_copy(node)
    submodules: dict[str, Any] = {}
    for partition in ordered(partitions):
        submodules[partition.submod_name] = submodule(partition, root_m, bool(keep_original_node_name))
        call = whole.call_module(partition.submod_name, tuple([values[node] for node in partition.inputs]))
        if len(partition.outputs) == 1:
            values[next(iter(partition.outputs))] = call
        else:
            for i, node in enumerate(partition.outputs):
                values[node] = whole.call_function(operator.getitem, (call, i))
    end = m.graph.output_node()
    whole.output(map_arg(end.args[0], lambda node: values[node]), type_expr=end.type)
    holder = Module()
    for node in whole.nodes:
        if node.op == "get_attr":
            copy_attribute(root_m, holder, node.target)
    for name, inner in submodules.items():
        holder.add_module(name, inner)
    return GraphModule(holder, whole)


def ordered(partitions: dict[str, Partition]) -> list[Partition]:
    """Partitions such that each comes after those that it needs."""
    done: dict[str, Partition] = {}
    left = dict(partitions)
    while left:
        ready = [name for name, partition in left.items() if all([need in done for need in partition.needs])]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        for name in ready:
            done[name] = left.pop(name)
    return list(done.values())


def submodule(partition: Partition, root: Module, keep_names: bool) -> GraphModule:
    graph = Graph()
    inner: dict[Node, Node] = {node: graph.placeholder(node.name) for node in partition.inputs}
    for node in partition.nodes:
        inner[node] = graph.create_node(node.op, node.target, map_arg(node.args, lambda used: inner[used]),
                                        dict(map_arg(node.kwargs, lambda used: inner[used])),
                                        node.name if keep_names else None, node.type)
        inner[node].meta = dict(node.meta)
    results = tuple([inner[node] for node in partition.outputs])
    graph.output(results[0] if len(results) == 1 else results)
    return GraphModule(root, graph)
