"""Collects the nodes of a backward pass without running them: their inputs, and the cache key of the graph.

NOTE [The cache key]
Two passes share one graph if they have the same kinds of nodes with the same constants and edges. Values that may differ
between passes are lifted into lists that the graph takes: tensors, sizes, numbers, hooks (functions, contexts of custom
Functions and opaque nodes) and values packed by saved-tensor hooks. A `Ref` refers to an item of such a list. A tensor is
lifted once however often it occurs; which ones are the same is part of the key, together
with dtype, number of dimensions and whether they require grad.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from retrograd.autograd.engine import GraphTask, pop_ready, push_ready
from retrograd.autograd.function import BackwardCFunction
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.graph import AccumulateGrad, leaf_of, name_of, shape_dtype
from retrograd.core.recipe import ARGSIZE, GEOMETRY, NUMEL, SAVED, SHAPE, SIZES, STRIDES, VALUE
from retrograd.core.record import OpNode
from retrograd.core.saved import SavedTensor, unpack_slot
from retrograd.core.tensor import Tensor, wants_grad
from retrograd.core.views import CopySlices

SIZE_KINDS = (SIZES, STRIDES, GEOMETRY, ARGSIZE, NUMEL, SHAPE)

# Parameters that PyTorch declares as symbolic integers: they depend on the sizes of the data, not on the program.
SIZE_PARAMETERS = frozenset("""
    dilation end index input_sizes length num_weights output_padding output_size pad padding repeats self_sizes shape size
    sizes split_size split_sizes start step storage_offset stride
""".split())


class Ref(NamedTuple):
    """Item `number` of the list `place` ("inputs", "sizes", "scalars", "hooks" or "packed_data")."""

    place: str
    number: Any                               # a slice for a tuple of sizes


class Packed(NamedTuple):
    """A saved tensor that a hook must unpack: the hook, the packed value, the SavedTensor and its node."""

    hook: Ref
    packed: Ref
    saved: Ref
    node: Ref


class NodeCall:
    """One node of the pass, with templates of its arguments."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.runs = True
        self.kind = "node"                        # "op", "function", "accumulate" or "node"
        self.name: str = name_of(node)
        self.number = 0                           # its number in PyTorch's logs: see `number_calls`
        self.variant: Any = None                  # the compiled forward that made the node, if one did
        self.edges: list[Any] = []                # (number of a call, output number) or None
        self.expected: list[Any] = []             # the expected metadata of each edge's gradient
        self.me: Any = None                       # the variable, the ctx or the node itself
        self.saved: Any = []
        self.attributes: Any = []
        self.wanted: Any = None
        self.tensor_hooks: list[Any] = []         # (output number, Ref of the hook)
        self.retains: list[Any] = []
        self.pre_hooks: list[Ref] = []
        self.post_hooks: list[Ref] = []
        self.post_accumulate: list[Ref] = []
        self.captures: list[Any] = []             # (output number, position in the result)
        self.key: Any = None

    def label(self, suffix: Any = "") -> str:
        """Its name and number in logs: the nodes of a compiled forward are one."""
        return f"{self.name if self.variant is None else f'CompiledFunctionBackward{suffix}'} (NodeCall {self.number})"


class Collector:
    """Collects one pass."""

    def __init__(self, task: GraphTask, roots: Any, grads: Any, inputs: Any, variant_of: Any) -> None:
        self.task, self.roots, self.grads = task, roots, grads
        self.asked = inputs                       # the edges whose gradients are asked for, or None
        self.variant_of = variant_of              # node -> the compiled forward that made it, or None
        self.inputs: list[Any] = []
        self.sizes: list[int] = []
        self.scalars: list[Any] = []
        self.hooks: list[Any] = []
        self.packed_data: list[Any] = []
        self.places: dict[int, Ref] = {}          # id of a lifted object -> its Ref
        self.numbers: dict[Any, int] = {}         # node -> the number of its call
        self.calls: list[NodeCall] = []
        self.root_grads: list[Any] = []
        self.root_expected: list[Any] = []
        self.symbolic: set[int] = set()           # the sizes that a compiled forward has as symbols

    # ---- lifting
    def tensor(self, t: Any) -> Any:
        if t is None:
            return None
        ref = self.places.get(id(t))
        if ref is None:
            ref = self.places[id(t)] = Ref("inputs", len(self.inputs))
            self.inputs.append(t)
        return ref

    def sized(self, value: Any) -> Any:
        """Sizes in any nesting, lifted."""
        if type(value) is int:
            self.sizes.append(value)
            return Ref("sizes", len(self.sizes) - 1)
        if isinstance(value, tuple) and value and all([type(item) is int for item in value]):
            self.sizes.extend(value)
            return Ref("sizes", slice(len(self.sizes) - len(value), len(self.sizes)))
        if isinstance(value, tuple | list):
            items = [self.sized(item) for item in value]
            return items if isinstance(value, list) else tuple(items)
        return value

    def opaque(self, value: Any) -> Ref:
        self.hooks.append(value)
        return Ref("hooks", len(self.hooks) - 1)

    def saved_value(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, list | tuple):
            return [self.saved_value(item) for item in value]
        if type(value) in (bool, int, float, complex):
            self.scalars.append(value)
            return Ref("scalars", len(self.scalars) - 1)
        return value

    def constant(self, value: Any) -> Any:
        """A constant that is part of the key and the graph; other objects are lifted unchanged."""
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, list | tuple):
            items = [self.constant(item) for item in value]
            return items if isinstance(value, list) else tuple(items)
        if value is None or isinstance(value, bool | int | float | complex | str) or type(value).__name__ in (
                "dtype", "device", "layout", "memory_format"):
            return value
        return self.opaque(value)

    # ---- the walk
    def collect(self) -> None:
        task = self.task
        for (node, nr), grad in zip(self.roots, self.grads, strict=True):
            self.root_grads.append(self.tensor(grad))
            self.root_expected.append(None if grad is None else self.expectation(node, nr))
        waiting = dict(task.waiting)
        ready: list[Any] = []
        for node in dict.fromkeys([node for node, _ in self.roots]):
            if waiting[node] == 0:
                push_ready(ready, node)
        while ready:
            node = pop_ready(ready)
            call = self.visit(node)
            if not call.runs:
                continue
            for n in node._next_:
                if n is None or task.needed is not None and n not in task.useful:
                    continue
                waiting[n] -= 1
                if waiting[n] == 0:
                    push_ready(ready, n)
        self.root_expected = [self.with_leaf(expected) for expected in self.root_expected]
        for call in self.calls:                   # every node has its number now
            call.expected = [self.with_leaf(expected) for expected in call.expected]
            call.edges = [None if n is None or n not in self.numbers else (self.numbers[n], nr) for n, nr in call.edges]
            call.key = key_of(self, call)

    def number_calls(self) -> None:
        """Number the calls as PyTorch does: depth first, last edge first."""
        waiting = dict(self.task.waiting)
        stack = [node for node in dict.fromkeys([node for node, _ in self.roots]) if waiting[node] == 0]
        number = 0
        given: dict[int, int] = {}                # first call of a compiled forward -> its number, which all of them have
        firsts = self.forwards()
        while stack:
            node = stack.pop()
            if node not in self.numbers:
                continue
            call = self.calls[self.numbers[node]]
            first = firsts[self.numbers[node]]
            if first not in given:
                number += 1
                given[first] = number
            call.number = given[first]
            if not call.runs:
                continue
            for edge in call.edges:
                if edge is not None:
                    following = self.calls[edge[0]].node
                    waiting[following] -= 1
                    if waiting[following] == 0:
                        stack.append(following)

    def forwards(self) -> list[int]:
        """For each call the first one of the same run of a compiled forward, itself if no compiled forward made it."""
        firsts = list(range(len(self.calls)))
        for i, call in enumerate(self.calls):
            for edge in call.edges if call.variant is not None else ():
                if edge is not None and self.calls[edge[0]].variant is call.variant:
                    a, b = sorted((firsts[i], firsts[edge[0]]))
                    firsts = [a if first == b else first for first in firsts]
        return firsts

    def visit(self, node: Any) -> NodeCall:
        task = self.task
        call = NodeCall(node)
        variant = call.variant = self.variant_of(node)
        first_size = len(self.sizes)
        self.numbers[node] = len(self.calls)
        self.calls.append(call)
        if task.needed is not None:
            call.runs = task.needed.get(node, False)
            call.captures = list(task.captures.get(node, ()))
        self.collect_hooks(node, call)
        if not call.runs:
            return call
        nrs = node._nrs_
        known: dict[Any, Any] = {}                # edges to the same place share sizes
        for i, n in enumerate(node._next_):
            if n is None or task.needed is not None and n not in task.useful:
                call.edges.append((None, 0))
                call.expected.append(None)
            else:
                nr = 0 if nrs is None else nrs[i]
                call.edges.append((n, nr))
                if (n, nr) not in known:
                    known[n, nr] = self.expectation(n, nr)
                call.expected.append(known[n, nr])
        if type(node) is AccumulateGrad:
            call.kind = "accumulate"
            call.me = self.tensor(leaf_of(node))
        elif isinstance(node, OpNode) and isinstance(node._op_.vjp, dict):
            call.kind = "op"
            self.collect_op(node, call)
        elif isinstance(node, BackwardCFunction):
            call.kind = "function"
            if getattr(node._forward_cls, "boxed_grads_call", False):
                raise RuntimeError(f"boxed_grads_call=True on {node._forward_cls.__name__} is not supported with compiled "
                                   "autograd. ")
            call.me = self.opaque(node)
            call.saved = [self.saved_item(node, item) for item in node._raw_saved_tensors]
        else:
            call.me = self.opaque(node)
            call.wanted = None if task.needed is None else [n is not None for n, _ in call.edges]
        if variant is not None and variant.dynamic:
            self.symbolic.update(range(first_size, len(self.sizes)))
        return call

    def collect_op(self, node: Any, call: NodeCall) -> None:
        op = node._op_
        edges = [n is not None for n, _ in call.edges]
        used = self.used_slots(op, node, edges)
        call.saved = [self.saved_slot(node, slot) if slot in used else None for slot in range(len(op.saved_names))]
        if node._attrs_ is None:
            return
        call.attributes = []
        for i, value in enumerate(node._attrs_[:len(op.attr_names)]):
            kind, argument, _ = op.attr_kinds[i]
            param = op.schema.params[argument]
            symbolic = kind in SIZE_KINDS or kind == VALUE and (param.type == "SymInt" or param.name in SIZE_PARAMETERS)
            call.attributes.append(self.sized(value) if symbolic else self.constant(value))
        if op.has_lists:
            starts, counts = node._attrs_[len(op.attr_names)]
            call.attributes.append([list(starts), list(counts)])

    def used_slots(self, op: Any, node: Any, edges: list[bool]) -> set[int]:
        """The slots used by the rules that will run."""
        if op.has_lists:
            return set(range(len(op.saved_names)))
        rules = [rule for rule in op.rules if any([edges[i] for i in rule.targets])]
        return {index for rule in rules for kind, index in rule.sources if kind == SAVED}

    def saved_slot(self, node: Any, slot: int) -> Any:
        item = None if node._saved_ is None else node._saved_[slot]
        if type(item) is SavedTensor:
            return self.saved_item(node, item)
        if type(item) is list:
            return [self.saved_item(node, entry) if type(entry) is SavedTensor else self.saved_value(entry) for entry in item]
        return self.saved_value(unpack_slot(node, slot))

    def saved_item(self, node: Any, item: Any) -> Any:
        if item._hooks is None or item._released:
            return self.tensor(item.unpack(node))
        self.packed_data.append(item._packed)
        return Packed(self.opaque(item._hooks[1]), Ref("packed_data", len(self.packed_data) - 1), self.opaque(item),
                      self.opaque(node))

    def collect_hooks(self, node: Any, call: NodeCall) -> None:
        hooks = node._hooks_
        if type(node) is AccumulateGrad:
            extra = leaf_of(node)._extra
            if extra is not None and extra.hooks:
                call.tensor_hooks = [(0, self.opaque(hook)) for hook in extra.hooks.values()]
            if extra is not None and extra.post_hooks and call.runs:
                call.post_accumulate = [self.opaque(hook) for hook in extra.post_hooks.values()]
        elif hooks is not None:
            if hooks.tensor is not None:
                call.tensor_hooks = [(nr, self.opaque(hook)) for nr, registered in hooks.tensor.items()
                                     for hook in registered.values()]
            if hooks.retain is not None:
                call.retains = [(nr, self.opaque(hook)) for nr, hook in hooks.retain.items()]
        if hooks is not None and call.runs:
            call.pre_hooks = [self.opaque(hook) for hook in (hooks.pre or {}).values()]
            call.post_hooks = [self.opaque(hook) for hook in (hooks.post or {}).values()]

    def expectation(self, node: Any, nr: int) -> Any:
        """Shape and dtype of a gradient, and the node of the leaf that it reaches, if it does."""
        shape, dtype = shape_dtype(node, nr)
        return (None if shape is None else self.sized(tuple(shape)), None if dtype is None else BY_NUMPY[dtype],
                node if type(node) is AccumulateGrad else None)

    def with_leaf(self, expected: Any) -> Any:
        """An expectation with the leaf in the place of its node; leaves come after the saved tensors, as in PyTorch."""
        return expected and (*expected[:2], None if expected[2] is None else self.tensor(leaf_of(expected[2])))


def variant_number(variant: Any) -> int | None:
    return None if variant is None else variant.number


def mixes(node: Any) -> bool:
    return bool(node._op_.mixes) if isinstance(node, OpNode) else type(node) is CopySlices


# ---- keys
def key_of(collector: Collector, call: NodeCall) -> Any:
    """The key of one call."""
    node = call.node
    what: Any = (type(node), node._op_ if isinstance(node, OpNode) else None, call.kind, call.runs, node._count_,
                 variant_number(collector.variant_of(node)))
    if call.kind == "function":
        what += (node._forward_cls, node.materialize_grads, tuple([n is not None for n in node._next_]))
    if call.kind == "accumulate":
        what += (leaf_of(node)._grad is not None,)
    return (what, tuple(call.edges), frozen(collector, call.expected), frozen(collector, call.me),
            frozen(collector, call.saved), frozen(collector, call.attributes), tuple(call.wanted or ()),
            tuple([nr for nr, _ in call.tensor_hooks]), tuple([nr for nr, _ in call.retains]), len(call.pre_hooks),
            len(call.post_hooks), len(call.post_accumulate), tuple(call.captures))


def frozen(collector: Collector, value: Any) -> Any:
    """A template as a hashable value: references to tensors with their metadata, other ones without index."""
    if type(value) is Ref:
        if type(value.number) is slice:
            return value.place, value.number.stop - value.number.start
        if value.place == "scalars":
            return value.place, type(collector.scalars[value.number])
        if value.place != "inputs":
            return value.place
        t = collector.inputs[value.number]
        return (value.number, t.array.dtype.str, t.array.ndim, wants_grad(t), type(t), t._flags)
    if type(value) is Packed:
        return "packed"
    if isinstance(value, list | tuple):
        return tuple([frozen(collector, item) for item in value])
    if isinstance(value, float | complex | int):
        return type(value), repr(value)           # all NaNs are the same constant
    return value


def root_key(collector: Collector) -> Any:
    task = collector.task
    return ("root", task.create_graph, task.needed is None, len(task.captured),
            tuple([(collector.numbers.get(node), nr) for node, nr in collector.roots]),
            tuple([(collector.numbers.get(node), nr) for node, nr in collector.asked or ()]),
            frozen(collector, collector.root_grads), frozen(collector, collector.root_expected))
