"""Sizes of what nodes compute, and nodes whose targets are exchanged."""
from __future__ import annotations

from typing import Any, NamedTuple

from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node, map_arg
from retrograd.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = ["get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with", "size_bytes"]


class size_bytes(NamedTuple):
    """The memory of a node's result, and of it and the parameters that the node uses."""

    output_size: int
    total_size: int


def replace_target_nodes_with(fx_module: GraphModule, old_op: str, old_target: Any, new_op: str, new_target: Any) -> None:
    """Exchange the op and target of all nodes that have a given op and target.

    >>> import retrograd as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.sin(x))
    >>> replace_target_nodes_with(traced, "call_function", torch.sin, "call_function", torch.cos)
    >>> traced(torch.zeros(1))
    tensor([1.])
    """
    new_graph = type(fx_module.graph)()
    copied: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = map_arg((node.args, node.kwargs), copied.__getitem__)
            copied[node] = new_graph.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            copied[node] = new_graph.node_copy(node, copied.__getitem__)
    fx_module.graph = new_graph


def get_size_of_all_nodes(fx_module: GraphModule, args: Any = None) -> None:
    """Run a module on `args`, if given, and store the size of every node as `size_bytes`."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)      # type: ignore[attr-defined]


def get_tensor_meta(node: Node) -> Any:
    """What ShapeProp found about a node's result."""
    found = node.meta.get("tensor_meta")
    if not found:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return found


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The memory that a node's result and its parameters take."""
    parameters = 0
    if node.op == "call_module":
        called = dict(fx_module.named_modules())[node.target]
        parameters = sum([p.numel() * p.element_size() for p in called.parameters()])
    found = get_tensor_meta(node)
    parts = [found] if isinstance(found, TensorMetadata) else [part for part in found if part is not None]
    output = sum([part.shape.numel() * part.dtype.itemsize for part in parts])
    return size_bytes(output, output + parameters)
