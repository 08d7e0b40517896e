"""Builds an fx GraphModule of a collected backward pass, in the engine's order."""
from __future__ import annotations

import operator
from typing import Any

from retrograd.compile import steps
from retrograd.compile.collect import Collector, NodeCall, Packed, Ref, mixes, variant_number
from retrograd.fx import Graph, GraphModule, Node

PLACES = ("inputs", "sizes", "scalars", "hooks", "packed_data")


class Builder:
    """Builds the graph of one pass."""

    def __init__(self, collector: Collector, number: int) -> None:
        self.collector, self.number = collector, number
        self.graph = Graph()
        self.places = {name: self.graph.placeholder(name) for name in PLACES}
        self.items: dict[Any, Node] = {}
        self.buffers: list[list[Any]] = [[None] * call.node._count_ for call in collector.calls]
        self.origin = ""
        self.result: list[Any] = [None] * len(collector.task.captured)

    def build(self) -> GraphModule:
        collector = self.collector
        self.origin = "torch::autograd::GraphRoot (NodeCall 0)"
        if any([facts is not None for facts in collector.root_expected]):
            grads = self.call(steps.validate_outputs, (self.value(collector.root_grads), self.value(collector.root_expected),
                                                       steps.ROOT, False))
            for i, (node, nr) in enumerate(collector.roots):
                if collector.root_grads[i] is not None and node in collector.numbers:
                    self.deliver(collector.numbers[node], nr, self.call(operator.getitem, (grads, i)))
        for i, call in enumerate(collector.calls):
            self.origin = call.label(variant_number(call.variant))
            self.add_call(call, self.buffers[i])
        self.origin = ""
        self.call(steps.exec_final_callbacks, ())
        self.graph.output(list(self.result))
        module = GraphModule({}, self.graph, f"CompiledAutograd{self.number}")
        module.meta["steal_args"] = ["inputs"]
        return module

    # ---- values
    def call(self, target: Any, args: tuple[Any, ...], name: str | None = None, **kwargs: Any) -> Node:
        node = self.graph.call_function(target, args, kwargs, name=name)
        if self.origin:
            node.stack_trace = f'File "compiled_autograd", line {self.number}, in backward\n    {self.origin}\n'
        return node

    def value(self, template: Any) -> Any:
        """The graph's value for a template."""
        if type(template) is Ref:
            key = template.place, str(template.number)
            if key not in self.items:
                self.items[key] = self.call(operator.getitem, (self.places[template.place], template.number))
            return self.items[key]
        if type(template) is Packed:
            return self.call(steps.call_hook, (self.value(template.hook), self.value(template.packed)), hook_type="unpack_hook",
                             saved=self.value(template.saved), node=self.value(template.node))
        if isinstance(template, tuple):
            return tuple([self.value(item) for item in template])
        return [self.value(item) for item in template] if isinstance(template, list) else template

    def deliver(self, number: int, nr: int, grad: Any) -> None:
        buffer = self.buffers[number]
        buffer[nr] = grad if buffer[nr] is None else self.call(steps.add_gradients, (buffer[nr], grad), "add")

    # ---- calls
    def add_call(self, call: NodeCall, buffer: list[Any]) -> None:
        grads: Any = list(buffer)
        if call.runs:
            self.capture(call, grads)
        grads = self.tensor_hooks(call, grads)
        if not call.runs:
            self.capture(call, grads)
            return
        if call.pre_hooks:
            grads = self.listed(grads, call.pre_hooks)
        if call.kind == "accumulate":
            variable = self.value(call.me)
            added = self.call(steps.accumulate_grad_, (variable, grads[0]))
            for ref in call.post_accumulate:
                self.call(steps.call_hook, (self.value(ref), variable, added), hook_type="post_acc_grad_hook")
            for ref in call.post_hooks:
                self.call(steps.call_hook, (self.value(ref), [], list(grads)), hook_type="post_hook")
            return
        results = self.apply(call, grads)
        count = len(call.edges)
        if count and any([facts is not None for facts in call.expected]):
            results = self.call(steps.validate_outputs, (results, self.value(call.expected), call.name, mixes(call.node)))
        for ref in call.post_hooks:
            results = self.call(steps.call_hook, (self.value(ref), results, list(grads)), hook_type="post_hook")
        if call.post_hooks:                       # a hook may have changed shapes
            results = self.call(steps.validate_outputs, (results, self.value(call.expected), call.name, mixes(call.node)))
        for i, edge in enumerate(call.edges):
            if edge is not None:
                self.deliver(edge[0], edge[1], self.call(operator.getitem, (results, i)))

    def apply(self, call: NodeCall, grads: list[Any]) -> Any:
        if call.kind == "op":
            edges = [edge is not None for edge in call.edges]
            name = None if call.variant is None else f"aot{call.variant.number}_{call.node._op_.name}"
            return self.call(steps.backward_op(call.node._op_),
                             (list(grads), self.value(call.saved), self.value(call.attributes), edges), name)
        if call.kind == "function":
            return self.call(steps.call_backward, (self.value(call.me), tuple(self.value(call.saved)), *grads))
        return self.call(steps.call_node, (self.value(call.me), call.wanted, *grads))

    def tensor_hooks(self, call: NodeCall, grads: list[Any]) -> list[Any]:
        for nr, ref in call.tensor_hooks:
            grads[nr] = self.call(steps.call_hook, (self.value(ref), grads[nr]), hook_type="tensor_pre_hook")
        for nr, ref in call.retains:
            self.call(steps.call_hook, (self.value(ref), grads[nr]), hook_type="retain_grad_hook")
        return grads

    def listed(self, grads: list[Any], hooks: list[Ref]) -> list[Any]:
        """Gradients after hooks that take and return all of them."""
        current: Any = list(grads)
        for ref in hooks:
            current = self.call(steps.call_hook, (self.value(ref), current), hook_type="pre_hook")
        return [self.call(operator.getitem, (current, i)) for i in range(len(grads))]

    def capture(self, call: NodeCall, grads: list[Any]) -> None:
        for nr, position in call.captures:
            self.result[position] = grads[nr]
