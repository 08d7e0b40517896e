"""The graph of a run that programs count operations in."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.jit import _get_trace_graph, is_tracing
from retrograd.jit._state import current


class Model(nn.Module):
    """A convolution, a linear layer and a list of results."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv2d(1, 2, 3), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        assert is_tracing()
        a, b = self.linear(self.conv(x).flatten(1)).split(2, 1)
        return torch.cat([a, b], 1).relu()


def scopes() -> Any:
    return current.state


def kinds(graph: Any) -> list[str]:
    return [node.kind() for node in graph.nodes() if node.kind().startswith("aten::")]


def test_graph_has_the_ops_that_were_called_with_composites_whole() -> None:
    graph, result = _get_trace_graph(Model(), (torch.ones(3, 1, 4, 4),))
    assert kinds(graph) == ["aten::_convolution", "aten::flatten", "aten::linear", "aten::split", "aten::cat", "aten::relu"]
    assert result.shape == (3, 4) and not is_tracing() and current.state is None
    assert graph.inputs()[0].type().sizes() == [3, 1, 4, 4] and len(graph.inputs()) == 5
    assert graph.outputs()[0].type().sizes() == [3, 4]


def test_values_know_their_sizes_their_nodes_and_their_constants() -> None:
    graph, _ = _get_trace_graph(Model(), (torch.ones(3, 1, 4, 4),))
    nodes = {node.kind(): node for node in graph.nodes()}
    image, weight, *_, transposed = nodes["aten::_convolution"].inputs()[:7]
    assert image.isCompleteTensor() and weight.type().sizes() == [2, 1, 3, 3] and transposed.toIValue() is False
    parts = nodes["aten::cat"].inputs()[0].node()
    assert parts.kind() == "prim::ListConstruct" and [value.type().sizes() for value in parts.inputs()] == [[3, 2], [3, 2]]
    assert parts.inputs()[0].node().kind() == "prim::ListUnpack"
    assert nodes["aten::linear"].output().node() is nodes["aten::linear"] and "aten::linear(" in str(graph)


def test_scopes_that_hooks_push_name_the_nodes() -> None:
    model = Model()
    model.linear.register_forward_pre_hook(lambda *_: scopes().push_scope("linear"))
    model.linear.register_forward_hook(lambda *_: scopes().pop_scope())
    graph, _ = _get_trace_graph(model, (torch.ones(3, 1, 4, 4),))
    assert {node.scopeName() for node in graph.nodes() if node.kind() == "aten::linear"} == {"linear"}
    assert {node.scopeName() for node in graph.nodes() if node.kind() == "aten::cat"} == {""}


def test_trace_ends_after_an_error() -> None:
    def fail(x: Any) -> Any:
        raise ValueError("no result")
    try:
        _get_trace_graph(fail, (torch.ones(1),))
    except ValueError:
        pass
    assert current.state is None and not torch.autograd.profiler.profiler_enabled()
