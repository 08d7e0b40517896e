"""Exported programs compute what the module computed, for other sizes too, and live on without it."""
from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.compile.errors import UserError
from retrograd.export import Dim, ExportedProgram, dims, export


class Stateful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("offset", torch.ones(3), persistent=False)
        self.constant = torch.tensor([2.0])

    def forward(self, x: Any, scale: float = 2.0) -> Any:
        self.calls.add_(1)
        y = self.norm(x) * scale * self.constant + self.offset
        return {"flat": y.view(x.shape[0] * 3), "more": [y.sum(0, keepdim=True).expand(x.shape[0] + 1, 3), self.calls]}


def reread(program: ExportedProgram) -> ExportedProgram:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def test_graph_takes_parameters_as_arguments() -> None:
    program = export(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), (torch.randn(4, 2),))
    assert [node.name for node in program.graph.nodes] == ["p_0_weight", "p_0_bias", "input", "t", "addmm", "relu", "output"]
    assert program.graph_signature.parameters == ("0.weight", "0.bias")
    assert program.graph_signature.inputs_to_parameters == {"p_0_weight": "0.weight", "p_0_bias": "0.bias"}
    assert program.graph_signature.user_outputs == ("relu",)
    text = str(program)
    assert text.startswith("ExportedProgram:\n    class GraphModule(torch.nn.Module):") and "p_0_bias: PARAMETER" in text


@pytest.mark.parametrize("again", [lambda program: program, reread])
def test_program_computes_what_the_module_does(again: Any) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2))
    module = again(export(net, (torch.randn(5, 3),))).module()
    x = torch.randn(5, 3)
    assert torch.equal(module(x), net(x))
    module(x).sum().backward()
    assert all([p.grad is not None for p in module.parameters()])
    assert sorted(module.state_dict()) == sorted(net.state_dict())


@pytest.mark.parametrize("again", [lambda program: program, reread])
def test_buffers_structures_and_symbols(again: Any) -> None:
    shapes = {"x": {0: Dim("batch")}, "scale": None}
    program = again(export(Stateful(), (torch.randn(4, 3),), {"scale": 3.0}, dynamic_shapes=shapes))
    module, net = program.module(), Stateful()
    for n in (4, 7, 2):
        x = torch.randn(n, 3)
        got, expected = module(x, scale=3.0), net(x, scale=3.0)
        assert torch.allclose(got["flat"], expected["flat"]) and torch.allclose(got["more"][0], expected["more"][0])
        assert torch.equal(got["more"][1], expected["more"][1])
    assert torch.equal(module.norm.running_mean, net.norm.running_mean) and module.calls.item() == 3
    assert program.graph_signature.buffers_to_mutate and program.range_constraints == {"batch": (0, None)}


@pytest.mark.parametrize(("function", "sizes"), [
    (lambda x: x.reshape(x.shape[0] * x.shape[1]), [(2, 3), (5, 4)]),
    (lambda x: x[: x.shape[0] // 2], [(4, 2), (9, 2)]),
    (lambda x: torch.ones(x.shape[0] + 2, x.shape[1] * 2).sum() + x, [(3, 2), (6, 5)]),
    (lambda x: x.view(1, -1, x.size(1)).expand(3, -1, -1).transpose(0, 1).contiguous(), [(4, 3), (2, 6)]),
])
def test_sizes_are_computed_from_the_inputs(function: Any, sizes: Any) -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)
    h, w = dims("h", "w")
    module = export(Net(), (torch.randn(6, 4),), dynamic_shapes={"x": (h, w)}).module()
    for shape in [(6, 4), *sizes]:
        x = torch.randn(*shape)
        assert torch.equal(module(x), function(x))


def test_inputs_that_do_not_fit_are_refused() -> None:
    module = export(nn.Linear(2, 3), (torch.randn(4, 2),), dynamic_shapes={"input": {0: Dim("b", min=2, max=8)}}).module()
    with pytest.raises(AssertionError, match=r"Guard failed: input.size\(\)\[1\] == 2"):
        module(torch.ones(4, 3))
    with pytest.raises(AssertionError, match="Guard failed"):
        module(torch.ones(9, 2))
    with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree spec"):
        module(torch.ones(4, 2), 1)
    assert module(torch.ones(8, 2)).shape == (8, 3)


def test_branch_on_a_value_cannot_be_exported() -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        export(Net(), (torch.ones(2),))


def test_ops_that_depend_on_a_size_cannot_be_exported() -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return sum([x[i] for i in range(x.shape[0])])
    with pytest.raises(UserError, match=r"Constraints violated \(n\)!(?s:.)*your code specialized it to be a constant \(3\)"):
        export(Net(), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    assert export(Net(), (torch.ones(3),)).module()(torch.ones(3)).item() == 3


def test_exporting_changes_nothing() -> None:
    net = Stateful()
    x = torch.randn(4, 3)
    export(net, (x,))
    assert net.calls.item() == 0 and net.norm.num_batches_tracked.item() == 0
    with pytest.raises(ValueError, match="Expected `mod` to be an instance of `torch.nn.Module`"):
        export(lambda t: t, (x,))    # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        export(nn.ReLU(), (x,))(x)


@dataclass
class Point:
    x: Any
    scale: int = 3
    label: Any = None


def test_dataclasses_are_containers() -> None:
    torch.export.register_dataclass(Point)

    class Net(nn.Module):
        def forward(self, point: Any) -> Any:
            return Point(point.x * point.scale, point.scale + 1)
    program = export(Net(), (Point(torch.ones(2)),))
    found = program.module()(Point(torch.ones(2)))
    assert found.x.tolist() == [3.0, 3.0] and (found.scale, found.label) == (4, None)
    with pytest.raises(ValueError, match="with a Point among its inputs or results cannot be written"):
        torch.export.save(program, io.BytesIO())
    with pytest.raises(ValueError, match="already registered"):
        torch.export.register_dataclass(Point)
    with pytest.raises(ValueError, match="as it is not a dataclass"):
        torch.export.register_dataclass(int)
