"""Graphs that are traced apart, run on fake tensors, or written anew with ops decomposed."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd._decomp import get_decompositions
from retrograd.compile.fake_tensor import FakeTensor
from retrograd.fx import Graph, GraphModule, symbolic_trace
from retrograd.fx.experimental.proxy_tensor import (
    DecompositionInterpreter,
    get_innermost_proxy_mode,
    get_isolated_graphmodule,
    is_sym_node,
    make_fx,
)
from retrograd.fx.experimental.symbolic_shapes import fx_placeholder_targets, fx_placeholder_vals
from retrograd.fx.passes.fake_tensor_prop import FakeTensorProp

aten: Any = torch.ops.aten


def targets(module: GraphModule) -> list[Any]:
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def test_a_call_is_traced_apart_from_a_tracer_in_force() -> None:
    inner: list[Any] = []
    a, b = torch.ones(2), torch.ones(2)

    def f(x: Any) -> Any:
        assert get_innermost_proxy_mode() is not None
        inner.append(get_isolated_graphmodule(lambda a, *, b: a.sin() * b, (a,), {"b": b}))
        return x.cos()
    assert targets(make_fx(f)(torch.ones(2))) == [aten.cos.default]
    assert targets(inner[0]) == [aten.sin.default, aten.mul.Tensor]
    assert not any([is_sym_node(node) for node in inner[0].graph.nodes if node.op != "output"])
    assert len(fx_placeholder_targets(inner[0])) == 2 and fx_placeholder_vals(inner[0])[0].shape == (2,)


def test_graphs_run_without_data() -> None:
    module = symbolic_trace(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()))
    result = FakeTensorProp(module).propagate(torch.ones(5, 3))
    assert isinstance(result, FakeTensor) and result.shape == (5, 4)
    assert [tuple(node.meta["val"].shape) for node in module.graph.nodes][:2] == [(5, 3), (5, 4)]


def test_a_graph_is_written_anew_with_ops_decomposed() -> None:
    args = torch.ones(2, 2), torch.rand(2, 3), torch.rand(3, 2)
    module, graph = make_fx(torch.addmm)(*args), Graph()
    DecompositionInterpreter(module, graph, get_decompositions([aten.addmm])).run(*args)
    made = GraphModule(module, graph)
    assert targets(made) == [aten.mm.default, aten.add.Tensor]
    torch.testing.assert_close(made(*args), torch.addmm(*args))
