"""Some nodes of a graph made into a submodule."""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from operator import getitem
from typing import Any

from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node
from retrograd.fx.passes.tools_common import ordered, stable_topological_sort

__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition"]


def topo_sort(nodes: Any) -> list[Node]:
    """Nodes in an order in which values come before their uses, left where they are as far as that is possible."""
    return ordered(list(nodes))


def validate_partition(partition: Any) -> bool:
    """Whether no value leaves some nodes and comes back.

    >>> import retrograd as torch
    >>> nodes = {node.name: node for node in torch.fx.symbolic_trace(lambda x: x + 1 + torch.relu(x + 1)).graph.nodes}
    >>> validate_partition([nodes["add"], nodes["add_2"]]), validate_partition([nodes["add_1"], nodes["add_2"]])
    (True, False)
    """
    inside = set(partition)
    waiting = deque([user for node in inside for user in node.users if user not in inside])
    seen: set[Node] = set()
    while waiting:
        node = waiting.popleft()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting.extend(node.users)
    return True


def fuse_as_graphmodule(gm: GraphModule, nodes: Any, module_name: str, partition_lookup_table: Any = None, *,
                        always_return_tuple: bool = False) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module that does what some nodes do, the nodes that it takes and those whose values are used elsewhere."""
    order = topo_sort(nodes)
    for node in order:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
        if node not in gm.graph.find_nodes(op=node.op, target=node.target, sort=False):
            raise AssertionError(f"{node} is not found in graph module {gm._get_name()}")
    if not validate_partition(order):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = set(order)
    made = Graph()
    taken: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    def inner(value: Node) -> Node:
        if value in inside:
            return copies[value]
        if value not in taken:
            place = made.placeholder(value.name, type_expr=value.type)
            place.meta = dict(value.meta)
            taken[value] = place
        return taken[value]

    for node in order:
        copies[node] = made.node_copy(node, inner)
    first = next((node for node in made.nodes if node.op != "placeholder"), None)
    for place in taken.values():
        if first is not None and place > first:
            first.prepend(place)
    results = [node for node in order if any([user not in inside for user in node.users])]
    outs = tuple([copies[node] for node in results])
    made.output(outs if len(outs) != 1 or always_return_tuple else outs[0])
    made.lint()
    return GraphModule(gm, made, class_name=module_name), tuple(taken), tuple(results)


def insert_subgm(gm: GraphModule, sub_gm: GraphModule, orig_inputs: Iterable[Node], orig_outputs: Iterable[Node],
                 insertion_point: Node | None = None) -> GraphModule:
    """Call a module in the place of the nodes that gave some values: behind a node, or else behind the last of them."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    outputs = list(orig_outputs)
    last = max(outputs, default=None) if insertion_point is None else insertion_point
    if last is None:
        raise AssertionError("Cannot determine insertion point: no insertion_point provided and orig_outputs is empty. Pass "
                             "the last partition node as insertion_point.")
    with gm.graph.inserting_before(last.next):
        node = gm.graph.call_module(name, tuple(orig_inputs))
        result = sub_gm.graph.output_node().args[0]
        if len(outputs) == 1 and not isinstance(result, tuple):
            outputs[0].replace_all_uses_with(node)
            node.meta = dict(outputs[0].meta)
        else:
            for i, before in enumerate(outputs):
                item = gm.graph.call_function(getitem, (node, i))
                item.meta = dict(before.meta)
                before.replace_all_uses_with(item)
    return gm


def erase_nodes(gm: GraphModule, nodes: Any) -> None:
    """Take nodes out of a graph that nothing uses any more."""
    for node in reversed(topo_sort(nodes)):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm: GraphModule, partitions: list[dict[Node, Any]], prefix: str = "fused_",
                       always_return_tuple: bool = False) -> GraphModule:
    """Make submodules of some sets of nodes.

    >>> import operator, retrograd as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1 + x))
    >>> adds = {node: None for node in traced.graph.find_nodes(op="call_function", target=operator.add)}
    >>> [str(node.target) for node in fuse_by_partitions(traced, [adds]).graph.find_nodes(op="call_module")]
    ['fused_0']
    """
    for number, nodes in enumerate(partitions):
        order = topo_sort(nodes)
        sub, inputs, outputs = fuse_as_graphmodule(gm, order, f"{prefix}{number}", always_return_tuple=always_return_tuple)
        insert_subgm(gm, sub, inputs, outputs, order[-1])
        erase_nodes(gm, order)
    return stable_topological_sort(gm)
