"""Parts of a graph that a backend can run, as large as they can be without values that go out and come back."""
from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node
from retrograd.fx.passes.operator_support import OperatorSupportBase
from retrograd.fx.passes.tools_common import get_node_target
from retrograd.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """Some nodes that are to become one; a dict keeps their order."""

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None,
                 node_orders: Iterable[int] | None = None) -> None:
        self.id = id
        self.nodes: dict[Node, Any] = {}
        if nodes is not None:
            orders = [None for _ in nodes] if node_orders is None else list(node_orders)     # type: ignore[union-attr]
            self.nodes = dict(zip(nodes, orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        del self.nodes[node]

    def size(self) -> int:
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Proposes partitions of the supported nodes of a graph, and makes submodules of them.

    >>> import retrograd as torch
    >>> from retrograd.fx.passes.operator_support import create_op_support
    >>> adds = create_op_support(lambda modules, node: node.target is operator.add)
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1 + x))
    >>> CapabilityBasedPartitioner(traced, adds).propose_partitions()
    [{add: None, add_1: None}]
    """

    def __init__(self, graph_module: GraphModule, operator_support: OperatorSupportBase,
                 allows_single_node_partition: bool = False, non_compute_ops: Sequence[str] | None = None,
                 allowed_single_node_partition_ops: Sequence[str] | None = None, skip_horizontal_fusion: bool = False) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = [] if non_compute_ops is None else non_compute_ops
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion
        self.modules = dict(graph_module.named_modules())

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(self.modules, node)

    def propose_partitions(self) -> list[Partition]:
        """The partitions, the last of the graph first."""
        partitions: dict[int, Partition] = {}
        owner: dict[Node, int] = {}
        for number, node in enumerate(reversed(self.graph_module.graph.nodes)):
            if node.op not in ("call_function", "call_method", "call_module") or not self._is_node_supported(node):
                continue
            partitions[number] = Partition(number, [node])
            owner[node] = number
            related = [owner[user] for user in node.users if user in owner]
            for other in list(dict.fromkeys(related if self.skip_horizontal_fusion else [*related, *list(partitions)])):
                here = owner[node]
                if other == here or other not in partitions or closes_a_cycle(partitions, owner, {here, other}):
                    continue
                for moved in partitions.pop(here).nodes:
                    partitions[other].add_node(moved)
                    owner[moved] = other
        self.take_items_along(partitions, owner)
        if not self.allows_single_node_partition:
            partitions = {key: part for key, part in partitions.items() if self.is_worth_it(part)}
        for part in partitions.values():
            part.nodes = dict(sorted(part.nodes.items(), key=lambda item: item[0]))
        return [part for part in partitions.values() if part.size()]

    def take_items_along(self, partitions: dict[int, Partition], owner: dict[Node, int]) -> None:
        """Items of a result belong where the result does."""
        for node in self.graph_module.graph.nodes:
            if node.op != "call_function" or node.target is not operator.getitem:
                continue
            source = node.args[0]
            wanted, here = owner.get(source), owner.get(node)
            if wanted is not None and wanted != here:
                if here is not None:
                    partitions[here].remove_node(node)
                partitions[wanted].add_node(node)
                owner[node] = wanted

    def is_worth_it(self, part: Partition) -> bool:
        """Whether a partition has more than one node that computes, or one that may stand alone."""
        count = 0
        for node in part.nodes:
            if node.op != "call_function":
                count += 1
                continue
            name = get_node_target(self.modules, node)
            if name not in self.non_compute_ops:
                count += 1
            if name in self.allowed_single_node_partition_ops:
                return True
        return count > 1

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """The graph with a submodule in the place of each partition."""
        return fuse_by_partitions(self.graph_module, [part.nodes for part in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Leave out nodes that compute nothing where a partition begins and ends."""
        idle = set(self.non_compute_ops)

        def is_idle(node: Node) -> bool:
            return node.op == "call_function" and get_node_target(self.modules, node) in idle

        for part in partitions:
            changed = True
            while changed:
                edges = [node for node in part.nodes if is_idle(node)
                         and (not any([value in part.nodes for value in node.all_input_nodes])
                              or not any([user in part.nodes for user in node.users]))]
                changed = bool(edges)
                for node in edges:
                    part.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Propose partitions, and make submodules of them."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def closes_a_cycle(partitions: dict[int, Partition], owner: dict[Node, int], joined: set[int]) -> bool:
    """Whether a value would leave two partitions that are made one and come back."""
    inside = [node for key in joined for node in partitions[key].nodes]
    members = set(inside)
    waiting = deque([user for node in inside for user in node.users if user not in members])
    seen: set[Node] = set()
    while waiting:
        node = waiting.popleft()
        if node in members:
            return True
        if node in seen:
            continue
        seen.add(node)
        group = partitions[owner[node]].nodes if node in owner else (node,)
        for member in group:
            seen.add(member)
            waiting.extend(member.users)
    return False
