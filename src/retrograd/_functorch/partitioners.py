"""Splitting a joint graph into a forward and a backward graph, and deciding what is saved between them.

NOTE [Min-cut rematerialisation]
A value that the backward needs is either saved by the forward or computed again. The cheapest choice is a cut through a
network: every value is an edge that costs its bytes, the inputs are the source, what the backward does with gradients is the
sink. Ops that are not to be run twice (products, reductions, random numbers, writes) are joined to the source, so that the
cut comes after them. `config.activation_memory_budget` says how much of the memory that this takes beyond the inputs may be
used: below 1, the values that cost the most to compute again are saved as long as there is room, and all others are not.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import retrograd as torch
from retrograd._functorch.config import settings as config
from retrograd.fx import Graph, GraphModule, Node
from retrograd.utils import _pytree as pytree
from retrograd.utils.flop_counter import flop_registry

__all__ = ["default_partition", "min_cut_rematerialization_partition"]

UNITS = 1000              # in which a budget is counted
FAR = 100                 # steps that count


def default_partition(joint_module: GraphModule, _joint_inputs: Any, *, num_fwd_outputs: int,
                      static_lifetime_input_indices: Any = None, static_lifetime_input_nodes: Any = None
                      ) -> tuple[GraphModule, GraphModule]:
    """Save what the forward computes and the backward uses.

    >>> import retrograd as torch
    >>> from retrograd._functorch.aot_autograd import aot_function, make_boxed_func
    >>> def show(gm, inputs):
    ...     print(gm.code.strip())
    ...     return make_boxed_func(gm.forward)
    >>> _ = aot_function(lambda x: x.sin().cos(), show)(torch.ones(2, requires_grad=True))
    def forward(self, primals_1):
        sin = torch.ops.aten.sin.default(primals_1)
        cos = torch.ops.aten.cos.default(sin)
        return (cos, primals_1, sin)
    """
    joint = Joint(joint_module, num_fwd_outputs)
    forward = joint.before(joint.outputs)
    for node in joint.nodes:              # several results of one op are taken apart in the forward, which alone has them all
        if node.target is operator.getitem and node.args[0] in forward:
            forward.add(node)
    saved = [node for node in joint.nodes if (node in forward or is_primal(node)) and is_saveable(node) and any(
        [user not in forward and user in joint.needed for user in users_of(node)])]
    return joint.split(saved)


def min_cut_rematerialization_partition(joint_module: GraphModule, _joint_inputs: Any, compiler: str = "inductor", *,
                                        num_fwd_outputs: int, static_lifetime_input_indices: Any = None
                                        ) -> tuple[GraphModule, GraphModule]:
    """Save as few bytes as possible, and compute the rest again, as far as that is cheap or the memory budget asks for it.

    >>> import retrograd as torch
    >>> from retrograd._functorch.aot_autograd import aot_function, make_boxed_func
    >>> def show(gm, inputs):
    ...     print(gm.code.strip())
    ...     return make_boxed_func(gm.forward)
    >>> f = aot_function(lambda x: x.sin().cos(), show, partition_fn=min_cut_rematerialization_partition)
    >>> _ = f(torch.ones(2, requires_grad=True))
    def forward(self, primals_1):
        sin = torch.ops.aten.sin.default(primals_1)
        cos = torch.ops.aten.cos.default(sin);  sin = None
        return (cos, primals_1)
    """
    joint = Joint(joint_module, num_fwd_outputs)
    budget = config.activation_memory_budget
    if not 0 <= budget <= 1:
        raise RuntimeError(f"The valid ranges for memory budget are 0 <= m <= 1. The provided value is {budget}")
    saved = joint.cut(lambda node: not is_cheap(node), joint.weight)
    if budget < 1:
        kept = joint.affordable(saved, budget)
        saved = joint.cut(lambda node: node in kept or not is_repeatable(node),
                          lambda node: 0 if node in kept or is_primal(node) else joint.weight(node))
    return joint.split(saved)


# ---- facts about nodes
def is_primal(node: Node) -> bool:
    return node.op == "placeholder" and not is_tangent(node)


def is_tangent(node: Node) -> bool:
    return node.op == "placeholder" and "tangents" in str(node.target)


def users_of(node: Node) -> Iterable[Node]:
    return node.users


def is_saveable(node: Node) -> bool:
    """Whether a value is one tensor; of several, each can be saved."""
    return isinstance(node.meta.get("val"), torch.Tensor)


def size_of(node: Node) -> float:
    value = node.meta.get("val")
    return float(max(value.numel() * value.element_size(), 1)) if isinstance(value, torch.Tensor) else math.inf


def is_repeatable(node: Node) -> bool:
    """Whether an op gives the same once more, and changes nothing."""
    if node.op != "call_function" or node.target is operator.getitem:
        return node.op != "placeholder"
    schema = getattr(node.target, "_schema", None)
    return schema is not None and not schema.is_mutable and torch.Tag.nondeterministic_seeded not in node.target.tags


def is_cheap(node: Node) -> bool:
    """Whether to compute a value again costs little more than to load what it is computed from."""
    if node.target is operator.getitem:
        return is_cheap(node.args[0])
    if node.op != "call_function" or not is_repeatable(node):
        return node.op == "get_attr"
    op = node.target
    return torch.Tag.pointwise in op.tags or op.is_view or not any([isinstance(a, Node) for a in pytree.tree_leaves(node.args)])


def cost_of(node: Node) -> float:
    """About how many operations an op takes."""
    value = node.meta.get("val")
    count = float(sum([t.numel() for t in pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]))
    formula = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if formula is None:
        return count
    args, kwargs = pytree.tree_map_only(Node, lambda n: n.meta.get("val"), (node.args, node.kwargs))
    return max(float(formula(*args, **kwargs, out_val=value)), count)


# ---- the joint graph
class Joint:
    """A graph of (inputs, gradients of outputs) to (outputs, gradients of inputs)."""

    def __init__(self, module: GraphModule, num_fwd_outputs: int) -> None:
        module.graph.eliminate_dead_code()
        self.module = module
        self.nodes: list[Node] = [node for node in module.graph.nodes if node.op != "output"]
        results = pytree.tree_leaves(next(node for node in module.graph.nodes if node.op == "output").args[0],
                                     is_leaf=lambda value: value is None)
        self.outputs, self.grads = results[:num_fwd_outputs], results[num_fwd_outputs:]
        self.backward: set[Node] = set()          # what depends on gradients
        for node in self.nodes:
            if is_tangent(node) or any([source in self.backward for source in node.all_input_nodes]):
                self.backward.add(node)
        self.needed = self.before(self.grads)     # what the gradients of inputs depend on
        self.distance: dict[Node, int] = {}       # ops from a value to the first one that the gradients have a part in
        for node in reversed(self.nodes):
            self.distance[node] = 0 if node in self.backward else min([self.distance[user] + 1 for user in users_of(node)
                                                                       if user in self.distance], default=FAR)

    def weight(self, node: Node) -> float:
        """The bytes of a value, and a little more the further from the backward it is: less is computed again then."""
        return size_of(node) * 1.1 ** max(min(self.distance[node], FAR), 1)

    def before(self, results: Iterable[Any]) -> set[Node]:
        """All that `results` are computed from, and themselves."""
        found: set[Node] = set()
        todo = [node for node in results if isinstance(node, Node)]
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                todo.extend(node.all_input_nodes)
        return found

    def cut(self, banned: Callable[[Node], bool], weight: Callable[[Node], float]) -> list[Node]:
        """The values to save that weigh least, if ops that are `banned` do not run twice."""
        network = Network()
        considered = [node for node in self.nodes if node in self.needed and node not in self.backward]
        for node in considered:
            network.add((node, 0), (node, 1), weight(node) if is_saveable(node) else math.inf)
            if is_primal(node) or banned(node) and is_saveable(node):
                network.add("source", (node, 0), math.inf)
            for user in users_of(node):
                if user in self.backward and user in self.needed:
                    network.add((node, 1), "sink", math.inf)
                elif user in self.needed:
                    if banned(user) and not is_saveable(user):        # one of several results: each of them is saved
                        continue
                    network.add((node, 1), (user, 0), math.inf)
        for node in considered:                   # a result of its own that is a gradient
            if node in self.grads:
                network.add((node, 1), "sink", math.inf)
            if banned(node) and not is_saveable(node):
                for user in users_of(node):
                    if user in self.needed and is_saveable(user):
                        network.add("source", (user, 0), math.inf)
        reached = network.source_side()
        return [node for node in considered if (node, 0) in reached and (node, 1) not in reached]

    def affordable(self, saved: list[Node], budget: float) -> set[Node]:
        """Those of `saved` that a budget has room for, chosen by what it costs to compute them again."""
        candidates = [node for node in saved if not is_primal(node)]
        total = sum([size_of(node) for node in candidates])
        stops = set(saved)
        best: list[tuple[float, tuple[Node, ...]]] = [(0.0, ())] * (int(budget * UNITS) + 1)      # by units of memory
        for node in candidates:
            units = math.ceil(size_of(node) / total * UNITS)
            cost = self.cost_again(node, stops)
            for room in range(len(best) - 1, units - 1, -1):
                value, chosen = best[room - units]
                if value + cost > best[room][0]:
                    best[room] = value + cost, (*chosen, node)
        return set(best[-1][1])

    def cost_again(self, node: Node, stops: set[Node]) -> float:
        """What it takes to compute a value from inputs and from other values that might be saved."""
        found, todo, cost = {node}, [node], 0.0
        while todo:
            current = todo.pop()
            cost += cost_of(current)
            for source in current.all_input_nodes:
                if source not in found and source not in stops and not is_primal(source):
                    found.add(source)
                    todo.append(source)
        return cost

    # ---- the two graphs
    def split(self, saved: list[Node]) -> tuple[GraphModule, GraphModule]:
        primals = [node for node in self.nodes if is_primal(node)]
        tangents = [node for node in self.nodes if is_tangent(node)]
        return (self.extract(primals, [*self.outputs, *saved], "forward"),
                self.extract([*saved, *tangents], self.grads, "backward"))

    def extract(self, inputs: list[Node], outputs: list[Any], name: str) -> GraphModule:
        """The graph that computes `outputs` from `inputs`."""
        graph = Graph()
        made: dict[Node, Node] = {}
        for node in inputs:
            made[node] = graph.placeholder(node.name)
            made[node].meta = dict(node.meta)
        needed: set[Node] = set()
        todo = [node for node in outputs if isinstance(node, Node)]
        while todo:
            node = todo.pop()
            if node not in needed and node not in made:
                needed.add(node)
                todo.extend(node.all_input_nodes)
        for node in self.nodes:
            if node in needed:
                if node.op == "placeholder":
                    raise AssertionError(f"the {name} graph needs {node.name}, which it is not given")
                made[node] = graph.node_copy(node, lambda n: made[n])
        graph.output(tuple([made[node] if isinstance(node, Node) else node for node in outputs]))
        return GraphModule(self.module, graph)


# ---- the cheapest cut
class Network:
    """Edges with capacities from "source" to "sink"."""

    def __init__(self) -> None:
        self.capacity: dict[Any, dict[Any, float]] = {"source": {}, "sink": {}}

    def add(self, start: Any, end: Any, capacity: float) -> None:
        self.capacity.setdefault(start, {}).setdefault(end, 0.0)
        self.capacity.setdefault(end, {}).setdefault(start, 0.0)
        self.capacity[start][end] += capacity

    def source_side(self) -> set[Any]:
        """What the source reaches when as much flows as can: the edges that lead out of it are the cheapest cut."""
        while True:
            before = self.shortest_paths()
            if "sink" not in before:
                return set(before)
            path = ["sink"]
            while path[-1] != "source":
                path.append(before[path[-1]])
            edges = list(zip(path[1:], path, strict=False))
            flow = min([self.capacity[start][end] for start, end in edges])
            if flow == math.inf:
                raise RuntimeError("a gradient is needed at once with what it is computed from: the graph cannot be split")
            for start, end in edges:
                self.capacity[start][end] -= flow
                self.capacity[end][start] += flow

    def shortest_paths(self) -> dict[Any, Any]:
        """What the source reaches, each with where it is reached from."""
        before: dict[Any, Any] = {"source": None}
        level: list[Any] = ["source"]
        while level and "sink" not in before:
            following = []
            for start in level:
                for end, capacity in self.capacity[start].items():
                    if capacity > 0 and end not in before:
                        before[end] = start
                        following.append(end)
            level = following
        return before
