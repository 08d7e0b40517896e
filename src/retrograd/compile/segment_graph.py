"""Builds the fx GraphModule of a recorded segment for a backend."""
from __future__ import annotations

import operator
from typing import Any

from retrograd.compile.recorder import Segment, Size, Value, Variant
from retrograd.core.device import device
from retrograd.core.dtypes import dtype
from retrograd.fx import Graph, GraphModule, Node
from retrograd.ops.memory.copy import layout, memory_format

PLAIN = (int, float, complex, str, type(None), dtype, device, layout, memory_format)


class SegmentGraph:
    """The graph of a segment: the module, example inputs for it, and the numbers of the values that it returns.

    If `boxed`, its first argument is the list of all tensors; otherwise they are arguments of their own.
    """

    def __init__(self, segment: Segment, variant: Variant, boxed: bool, living: list[int] | None = None) -> None:
        self.segment, self.variant = segment, variant
        self.graph = Graph()
        self.values: dict[int, Node] = {}
        self.examples: list[Any] = []
        self.arguments: list[tuple[str, Any]] = []        # the source of each in a segment: see `arguments_of`
        self.symbols: dict[int, Node] = {}
        self.others: dict[int, Node] = {}         # objects without a source form, such as random generators
        self.add_inputs(boxed)
        for event in segment.events:
            node = self.graph.call_function(event.function, tuple(self.fill(event.args)), self.fill(event.kwargs),
                                            name=event.function.__name__.partition(".")[0])
            self.take(event.result, node)
        self.living = segment.living() if living is None else living
        self.graph.output(tuple([self.values[number] for number in self.living]))
        self.module = GraphModule({}, self.graph, "GraphModule")

    def add_inputs(self, boxed: bool) -> None:
        inputs = self.segment.inputs
        if boxed:
            box = self.argument("L_inputs_", list(inputs.values()), ("box", list(inputs)))
            for i, number in enumerate(inputs):
                self.values[number] = self.graph.call_function(operator.getitem, (box, i))
            return
        for i, (number, t) in enumerate(inputs.items()):
            self.values[number] = self.argument(f"arg{i}_1", t, ("input", number))

    def argument(self, name: str, example: Any, source: tuple[str, Any]) -> Node:
        """Append an argument."""
        places = [node for node in self.graph.nodes if node.op == "placeholder"]
        with self.graph.inserting_after(places[-1]) if places else self.graph.inserting_before():
            made = self.graph.placeholder(name)
        made.meta["example_value"] = made.meta["val"] = example
        self.examples.append(example)
        self.arguments.append(source)
        return made

    def fill(self, template: Any) -> Any:
        """The graph's value for a recorded argument."""
        if type(template) is Value:
            return self.values[template.number]
        if type(template) is Size:
            return self.symbol(template.number)
        if isinstance(template, list):
            return [self.fill(item) for item in template]
        if isinstance(template, dict):
            return {key: self.fill(item) for key, item in template.items()}
        if isinstance(template, PLAIN):
            return template
        if id(template) not in self.others:
            self.others[id(template)] = self.argument(f"object{len(self.others)}", template, ("object", None))
        return self.others[id(template)]

    def symbol(self, number: int) -> Any:
        size = self.segment.sizes[number]
        if self.variant.sizes[number] is not None:
            return size
        if number not in self.symbols:
            self.symbols[number] = self.argument(f"s{len(self.symbols)}", size, ("size", number))
        return self.symbols[number]

    def arguments_of(self, segment: Segment) -> list[Any] | None:
        """The arguments of the graph in another run of the segment; None if they cannot be determined."""
        made: list[Any] = []
        for kind, key in self.arguments:
            if kind == "object":
                return None
            made.append([segment.inputs[number] for number in key] if kind == "box" else
                        segment.inputs[key] if kind == "input" else segment.sizes[key])
        return made

    def forget_tensors(self) -> None:
        """Release the tensors of the run that the graph was built from."""
        self.segment, self.examples, self.others = Segment(), [], {}

    def take(self, result: Any, node: Node) -> None:
        """Assign value numbers to the results of a node."""
        if type(result) is Value:
            self.values[result.number] = node
        elif isinstance(result, list):
            for i, item in enumerate(result):
                if isinstance(item, Value | list):
                    self.take(item, self.graph.call_function(operator.getitem, (node, i)))
