"""Functions compiled ahead of time together with their backward, and how the two are split."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_compiler,
    make_boxed_func,
)
from retrograd._functorch.compilers import memory_efficient_fusion, nop
from retrograd._functorch.config import settings as config
from retrograd._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from retrograd.nn import functional as F

PARTITIONS = (default_partition, min_cut_rematerialization_partition)
BUDGETS = (1.0, 0.6, 0.3, 0.0)


class Keep:
    """A compiler that keeps graphs, and what they are given."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.shapes: list[Any] = []

    def __call__(self, gm: Any, inputs: Any) -> Any:
        self.graphs.append(gm)
        self.shapes.append([tuple(t.shape) for t in inputs])
        return make_boxed_func(gm.forward)


def ops_of(module: Any) -> list[str]:
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def saved_by(module: Any, outputs: int = 1) -> list[str]:
    """The names of what a forward graph returns beside its outputs."""
    output = next(node for node in module.graph.nodes if node.op == "output")
    return [node.name for node in output.args[0][outputs:]]


def leaf(*shape: int) -> Any:
    return torch.randn(*shape, requires_grad=True)


PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "product": (lambda x, w: (x @ w).sin().cos().sum(), [(2, 3), (3, 4)]),
    "norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b).relu().softmax(-1)[0], [(3, 4), (4,), (4,)]),
    "several": (lambda x, y: (x * y).exp().sum() + x.max(0).values.sum() + x.sort(-1).values[0].sum(), [(3, 4), (3, 4)]),
    "deep": (lambda x, w: ((x @ w).relu() @ w).relu() @ w, [(2, 3), (3, 3)]),
    "written": (lambda x, y: (x * 2).add_(y).mul_(x), [(3,), (3,)]),
    "unused": (lambda x, y: x.exp(), [(3,), (3,)]),
}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_the_function(name: str, partition: Any, budget: float) -> None:
    torch.manual_seed(0)
    function, shapes = PROGRAMS[name]
    inputs = [leaf(*shape) for shape in shapes]
    with config.patch(activation_memory_budget=budget):
        out = aot_function(function, nop, partition_fn=partition)(*inputs)
    expected = function(*inputs)
    assert torch.allclose(out, expected) and out.grad_fn.name() == "CompiledFunctionBackward"
    grad = torch.randn_like(expected)
    found = torch.autograd.grad(out, inputs, grad, allow_unused=True)
    for got, want in zip(found, torch.autograd.grad(expected, inputs, grad, allow_unused=True), strict=True):
        assert (got is None) == (want is None) and (got is None or torch.allclose(got, want, atol=1e-6))


def test_default_partition_saves_what_the_backward_uses() -> None:
    keep = Keep()
    aot_function(PROGRAMS["product"][0], keep)(leaf(2, 3), leaf(3, 4)).backward()
    forward, backward = keep.graphs
    assert ops_of(forward) == ["aten.mm.default", "aten.sin.default", "aten.cos.default", "aten.sum.default"]
    assert saved_by(forward) == ["primals_1", "primals_2", "mm", "sin"]
    assert keep.shapes == [[(2, 3), (3, 4)], [(2, 3), (3, 4), (2, 4), (2, 4), ()]]
    assert "aten.sin.default" in ops_of(backward) and "primals_1" in backward.code and "tangents_1" in backward.code


def test_min_cut_computes_pointwise_ops_again_and_no_products() -> None:
    keep = Keep()
    aot_function(PROGRAMS["product"][0], keep, partition_fn=min_cut_rematerialization_partition)(
        leaf(2, 3), leaf(3, 4)).backward()
    forward, backward = keep.graphs
    assert "mm" in saved_by(forward) and "sin" not in saved_by(forward)
    assert ops_of(backward).count("aten.mm.default") == 2 and ops_of(backward).count("aten.sin.default") == 2


def test_a_budget_decides_which_products_are_computed_again() -> None:
    counts = []
    for budget in (1.0, 0.5, 0.0):
        keep = Keep()
        with config.patch(activation_memory_budget=budget):
            aot_function(lambda x, w: PROGRAMS["deep"][0](x, w).sum(), keep,
                         partition_fn=min_cut_rematerialization_partition)(leaf(2, 3), leaf(3, 3)).backward()
        counts.append(ops_of(keep.graphs[1]).count("aten.mm.default"))
        if budget == 0:
            assert saved_by(keep.graphs[0]) == ["primals_1", "primals_2"]
    assert counts == [6, 7, 8]
    with config.patch(activation_memory_budget=2.0), pytest.raises(RuntimeError, match="0 <= m <= 1"):
        aot_function(torch.sin, nop, partition_fn=min_cut_rematerialization_partition)(leaf(2))


@pytest.mark.parametrize("budget", BUDGETS)
def test_random_numbers_are_drawn_once_and_not_by_tracing(budget: float) -> None:
    def function(x: Any) -> Any:
        return F.dropout(x.sin(), 0.5).exp()
    x = leaf(40)
    torch.manual_seed(0)
    expected = function(x)
    with config.patch(activation_memory_budget=budget):
        torch.manual_seed(0)
        out = aot_function(function, nop, partition_fn=min_cut_rematerialization_partition)(x)
        found, = torch.autograd.grad(out.sum(), x)
    assert torch.equal(out, expected) and torch.equal(found, torch.autograd.grad(expected.sum(), x)[0])


def test_structures_numbers_and_keywords_come_through() -> None:
    keep = Keep()
    f = aot_function(lambda x, n, *, scale: (x["a"] * n * scale, n + 1, [None, x["a"].detach()]), keep)
    x = leaf(3)
    out, number, (nothing, detached) = f({"a": x}, 2, scale=3.0)
    assert torch.equal(out, x * 6) and number == 3 and nothing is None and not detached.requires_grad
    f({"a": x}, 2, scale=3.0)
    assert len(keep.graphs) == 1
    assert torch.equal(f({"a": x}, 4, scale=3.0)[0], x * 12) and len(keep.graphs) == 2
    with torch.no_grad():
        assert torch.equal(f({"a": x}, 2, scale=3.0)[0], x * 6)
    assert [node.name for node in keep.graphs[2].graph.nodes if node.op == "placeholder"] == ["arg0_1"]


def test_writes_to_inputs_are_results_of_the_graph() -> None:
    keep = Keep()

    def function(x: Any, state: Any) -> Any:
        state.mul_(2).add_(1)
        return x * state
    x, state = leaf(2), torch.ones(2)
    out = aot_function(function, keep)(x, state)
    assert state.tolist() == [3.0, 3.0] and torch.equal(out, x * 3)
    assert not any([name.split(".")[1].endswith("_") for name in ops_of(keep.graphs[0])])
    assert torch.autograd.grad(out.sum(), x)[0].tolist() == [3.0, 3.0]
    twice = x * 2
    aot_function(lambda t: t.mul_(3), keep)(twice)
    assert torch.autograd.grad(twice.sum(), x)[0].tolist() == [6.0, 6.0]


def test_backward_is_compiled_when_it_is_needed_and_cannot_be_differentiated() -> None:
    keep = Keep()
    x = leaf(2)
    out = aot_function(lambda x: (x * x * x).sum(), keep)(x)
    assert len(keep.graphs) == 1
    grad, = torch.autograd.grad(out, x, create_graph=True)
    assert len(keep.graphs) == 2 and torch.allclose(grad, 3 * x * x)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        torch.autograd.grad(grad.sum(), x)


def test_modules_keep_their_parameters() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    twin = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    twin.load_state_dict(model.state_dict())
    x = torch.randn(5, 3)
    for compiled in (aot_module(model, nop), memory_efficient_fusion(model)):
        model.zero_grad()
        twin.zero_grad()
        compiled(x).pow(2).sum().backward()
        twin(x).pow(2).sum().backward()
        for (name, p), q in zip(model.named_parameters(), twin.parameters(), strict=True):
            assert torch.allclose(p.grad, q.grad, atol=1e-5), name
        assert torch.allclose(model[1].running_mean, twin[1].running_mean)


def test_simplified_modules_return_tuples_and_are_backends() -> None:
    keep = Keep()
    with pytest.raises(RuntimeError, match="Graph output must be a \\(\\)"):
        aot_module_simplified(torch.nn.Linear(3, 2), (torch.ones(1, 3),), keep)

    def backend(gm: Any, inputs: Any) -> Any:
        return aot_module_simplified(gm, inputs, make_boxed_compiler(lambda gm, inputs: keep.graphs.append(gm) or gm))
    f = torch.compile(lambda t: (t * 2).sin(), backend=backend)
    for n in (2, 2, 3):
        x = leaf(n)
        out = f(x)
        out.sum().backward()
        assert torch.allclose(out, (x * 2).sin()) and torch.allclose(x.grad, (x * 2).cos() * 2)
    assert keep.graphs and "aten.sin.default" in ops_of(keep.graphs[0])


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize(("f", "shape"), [
    (torch.fft.rfft, (4,)), (lambda x: torch.as_strided(x, (2, 2), (1, 2), 0) ** 2, (6,)),       # formulas that write to zeros
    (torch.linalg.svdvals, (3, 2)), (lambda x: F.group_norm(x, 2), (2, 4)),                      # several results of one op
    (lambda x: torch.where(x > 0, x * x, 0), ()), (lambda x: torch.clamp_max(x, x.detach() + 1), ())])     # single numbers
def test_gradients_are_those_without_compiling(f: Any, shape: tuple[int, ...], partition: Any) -> None:
    torch.manual_seed(0)
    x = torch.rand(shape, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    wanted, made = f(x), aot_function(f, nop, partition_fn=partition)(y)
    torch.testing.assert_close(made, wanted)
    weights = torch.rand_like(wanted.detach())
    torch.testing.assert_close(torch.autograd.grad(made, y, weights), torch.autograd.grad(wanted, x, weights))


def test_sparse_arguments_are_told_apart_by_their_layouts() -> None:
    x, y = torch.eye(2).to_sparse_csr(), torch.ones(2, 2, requires_grad=True)
    made = aot_function(lambda x, y: torch.sparse.mm(x, y), nop)(x, y)
    assert torch.equal(made, torch.ones(2, 2))
