"""From a recorded segment to an fx GraphModule, which a backend gets."""
from __future__ import annotations

import operator
from typing import Any

from retrograd.compile.recorder import Segment, Size, Value, Variant
from retrograd.fx import Graph, GraphModule, Node


def build(segment: Segment, variant: Variant, boxed: bool) -> tuple[GraphModule, list[Any], list[int]]:
    """The module, example inputs for it, and the numbers of the values that it returns.

    With `boxed` its first argument is the list of all tensors; otherwise they are arguments of their own.
    """
    graph = Graph()
    values: dict[int, Node] = {}
    examples: list[Any] = []
    if boxed:
        box = graph.placeholder("L_inputs_")
        tensors = list(segment.inputs.values())
        box.meta["example_value"] = box.meta["val"] = tensors
        examples.append(tensors)
        for i, number in enumerate(segment.inputs):
            values[number] = graph.call_function(operator.getitem, (box, i))
    else:
        for i, (number, t) in enumerate(segment.inputs.items()):
            values[number] = graph.placeholder(f"arg{i}_1")
            values[number].meta["example_value"] = values[number].meta["val"] = t
            examples.append(t)
    symbols: dict[int, Node] = {}

    def symbol(number: int) -> Any:
        if variant.sizes[number] is not None:
            return segment.sizes[number]
        if number not in symbols:
            after = [*[v for v in graph.nodes if v.op == "placeholder"]]
            with graph.inserting_after(after[-1]) if after else graph.inserting_before():
                symbols[number] = graph.placeholder(f"s{len(symbols)}")
            symbols[number].meta["example_value"] = segment.sizes[number]
            examples.append(segment.sizes[number])
        return symbols[number]

    def fill(template: Any) -> Any:
        if type(template) is Value:
            return values[template.number]
        if type(template) is Size:
            return symbol(template.number)
        if isinstance(template, list):
            return [fill(item) for item in template]
        return {key: fill(item) for key, item in template.items()} if isinstance(template, dict) else template

    def take(result: Any, node: Node) -> None:
        if type(result) is Value:
            values[result.number] = node
        elif isinstance(result, list):
            for i, item in enumerate(result):
                if isinstance(item, Value | list):
                    take(item, graph.call_function(operator.getitem, (node, i)))
    for event in segment.events:
        node = graph.call_function(event.function, tuple(fill(event.args)), fill(event.kwargs),
                                   name=event.function.__name__.partition(".")[0])
        take(event.result, node)
    living = segment.living()
    graph.output(tuple([values[number] for number in living]))
    return GraphModule({}, graph, f"GraphModule_{variant.number}"), examples, living
