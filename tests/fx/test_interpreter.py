"""Interpreters, transformers, patterns, shapes and make_fx."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import fx, nn
from retrograd.fx.experimental.proxy_tensor import make_fx
from retrograd.fx.passes.shape_prop import ShapeProp
from retrograd.fx.passes.split_module import split_module
from retrograd.fx.subgraph_rewriter import replace_pattern_with_filters


def body(module: Any) -> list[str]:
    return [line.strip() for line in module.code.strip().split("\n")[1:]]


def test_interpreter_says_where_an_error_happened() -> None:
    traced = fx.symbolic_trace(lambda x: x.view(7))
    with pytest.raises(RuntimeError, match=r"(?s)shape.*While executing %view : .* = call_method\[target=view\]"):
        fx.Interpreter(traced).run(torch.ones(2))


def test_interpreter_frees_values_and_starts_from_given_ones() -> None:
    traced = fx.symbolic_trace(lambda x: (x + 1) * 2)
    interpreter = fx.Interpreter(traced)
    x, add, *_ = traced.graph.nodes
    assert interpreter.run(initial_env={x: None, add: torch.ones(1)}).tolist() == [2.0]
    interpreter.run(torch.ones(1))
    assert [node.op for node in interpreter.env] == ["output"]
    values = [torch.ones(1)]
    assert interpreter.boxed_run(values).tolist() == [4.0] and values == []


def test_missing_argument_is_named() -> None:
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter y, but one was not passed in!"):
        fx.Interpreter(fx.symbolic_trace(lambda x, y: x)).run(torch.ones(1))


def test_transformer_changes_calls() -> None:
    class Swap(fx.Transformer):
        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_method("neg", args, kwargs)

        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(torch.mul if target is torch.add else target, args, kwargs)
    made = Swap(fx.symbolic_trace(lambda x: torch.add(x.relu(), 2))).transform()
    assert body(made) == ["neg = x.neg();  x = None", "mul = torch.mul(neg, 2);  neg = None", "return mul"]


def test_patterns_are_replaced_wherever_they_are() -> None:
    traced = fx.symbolic_trace(lambda x, y: torch.cat([torch.neg(x).relu(), torch.neg(y).relu()]))
    found = fx.replace_pattern(traced, lambda a: torch.neg(a).relu(), lambda a: torch.tanh(a) + 1)
    assert len(found) == 2
    assert [node.name for node in traced.graph.nodes] == ["x", "y", "tanh", "add", "tanh_1", "add_1", "cat", "output"]


def test_chained_occurrences_follow_each_other() -> None:
    traced = fx.symbolic_trace(lambda x: torch.sigmoid(torch.sigmoid(x)))
    assert len(fx.replace_pattern(traced, lambda a: torch.sigmoid(a), lambda a: torch.tanh(a))) == 2
    assert torch.equal(traced(torch.ones(1)), torch.tanh(torch.tanh(torch.ones(1))))


def test_value_used_outside_of_the_pattern_forbids_it() -> None:
    traced = fx.symbolic_trace(lambda x: (lambda n: n.relu() + n)(torch.neg(x)))
    assert fx.replace_pattern(traced, lambda a: torch.neg(a).relu(), lambda a: a) == []


def test_literals_of_a_pattern_must_agree() -> None:
    traced = fx.symbolic_trace(lambda x: x * 2 + x * 3)
    assert len(replace_pattern_with_filters(traced, lambda a: a * 3, lambda a: a * 30)) == 1
    assert traced(torch.ones(1)).tolist() == [32.0]


def test_shapes_are_noted_on_nodes() -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    ShapeProp(traced).propagate(torch.ones(5, 3))
    meta = [node.meta["tensor_meta"] for node in traced.graph.nodes]
    assert [tuple(m.shape) for m in meta] == [(5, 3), (5, 2), (5, 2), (5, 2)]
    assert meta[1].requires_grad and meta[1].dtype is torch.float32 and meta[1].stride == (2, 1)


# ---- make_fx
def test_ops_are_written_down_with_their_overloads() -> None:
    def function(x: Any, y: Any) -> Any:
        z = torch.sin(x) * y + 2
        return z.sum(), z.view(-1)
    assert body(make_fx(function)(torch.ones(2, 3), torch.ones(3))) == [
        "sin = torch.ops.aten.sin.default(x_1);  x_1 = None",
        "mul = torch.ops.aten.mul.Tensor(sin, y_1);  sin = y_1 = None",
        "add = torch.ops.aten.add.Tensor(mul, 2);  mul = None",
        "sum_1 = torch.ops.aten.sum.default(add)",
        "view = torch.ops.aten.view.default(add, [-1]);  add = None",
        "return (sum_1, view)"]


def test_backward_is_part_of_the_graph() -> None:
    def function(x: Any, y: Any) -> Any:
        return torch.autograd.grad((x.relu() @ y).sum(), (x, y))
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    module = make_fx(function)(a, b)
    assert [node.name for node in module.graph.nodes] == [
        "x_1", "y_1", "relu", "detach", "mm", "sum_1", "ones_like", "expand", "t", "mm_1", "t_1", "mm_2", "detach_1",
        "threshold_backward", "output"]
    for got, expected in zip(module(a, b), function(a, b), strict=True):
        assert torch.equal(got, expected)


def test_writes_and_several_results() -> None:
    def function(x: Any) -> Any:
        x.add_(1)
        return x.max(0), x.split(1)
    assert body(make_fx(function)(torch.ones(2))) == [
        "add_ = torch.ops.aten.add_.Tensor(x_1, 1);  x_1 = None",
        "max_1 = torch.ops.aten.max.dim(add_, 0)",
        "getitem = max_1[0]",
        "getitem_1 = max_1[1];  max_1 = None",
        "split = torch.ops.aten.split.Tensor(add_, 1);  add_ = None",
        "getitem_2 = split[0]",
        "getitem_3 = split[1];  split = None",
        "return ((getitem, getitem_1), (getitem_2, getitem_3))"]


def test_other_tensors_are_constants_of_the_module() -> None:
    layer = nn.Linear(3, 2)
    module = make_fx(lambda x: layer(x) + torch.ones(2))(torch.ones(1, 3))
    assert isinstance(module._param_constant0, nn.Parameter)
    x = torch.randn(4, 3)
    assert torch.allclose(module(x), layer(x) + 1)


def test_nested_arguments_and_results() -> None:
    module = make_fx(lambda d: {"o": d["a"] + d["b"][0] * 2})({"a": torch.ones(2), "b": [torch.ones(2)]})
    assert module({"a": torch.zeros(2), "b": [torch.ones(2)]})["o"].tolist() == [2.0, 2.0]


def test_transforms_are_traced_through() -> None:
    def program(x: Any) -> Any:
        return torch.func.vmap(torch.func.grad(lambda t: t.sin().sum()))(x)
    x = torch.randn(2, 3)
    assert torch.allclose(make_fx(program)(x)(x * 2), (x * 2).cos())


def test_asking_for_a_traced_value_is_refused() -> None:
    with pytest.raises(RuntimeError, match="It appears that you're trying to get value out of a tracing tensor"):
        make_fx(lambda x: x * x.sum().item())(torch.ones(2))


def test_decompositions_are_used() -> None:
    table = {torch.ops.aten.relu.default: lambda x: x * (x > 0)}
    module = make_fx(lambda x: torch.relu(x), decomposition_table=table)(torch.ones(2))
    assert [node.name for node in module.graph.nodes] == ["x_1", "gt", "mul", "output"]


def test_symbolic_tracing_computes_sizes() -> None:
    def function(x: Any, y: Any) -> Any:
        return (x @ y).view(-1).repeat(2) + x.shape[0], torch.ones(x.shape[0] * 2, y.shape[1])
    module = make_fx(function, tracing_mode="symbolic")(torch.randn(3, 4), torch.randn(4, 5))
    x, y = torch.randn(6, 2), torch.randn(2, 3)
    assert all([torch.equal(a, b) for a, b in zip(module(x, y), function(x, y), strict=True)])
    fixed = make_fx(lambda t: sum(list(t)), tracing_mode="symbolic")(torch.ones(3))
    assert "sym_size" not in fixed.code and fixed(torch.ones(3)) == 3     # the ops depend on the size: it is a number


def test_fake_tracing_leaves_inputs_alone() -> None:
    x = torch.ones(2)
    make_fx(lambda x: x.add_(1), tracing_mode="fake")(x)
    assert x.tolist() == [1.0, 1.0]


# ---- splitting
class Split(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Any, y: Any) -> Any:
        a = self.linear(x) + self.weight
        return torch.sin(a.relu() + y) * self.weight, a


def test_module_is_split_into_submodules() -> None:
    torch.manual_seed(0)
    model = Split()
    traced = fx.symbolic_trace(model)
    split = split_module(traced, traced, lambda node: int(node.name in ("add_1", "sin", "mul")))
    assert [node.name for node in split.graph.nodes] == ["x", "y", "weight", "submod_0", "getitem", "getitem_1", "submod_1",
                                                         "output"]
    assert body(split.submod_1) == ["add = relu + y;  relu = y = None", "sin = torch.sin(add);  add = None",
                                    "mul = sin * weight;  sin = weight = None", "return mul"]
    x, y = torch.randn(2, 3), torch.randn(3)
    assert all([torch.equal(a, b) for a, b in zip(split(x, y), model(x, y), strict=True)])
    assert [name for name, _ in split.named_parameters()] == ["weight", "submod_0.linear.weight", "submod_0.linear.bias"]


def test_partitions_that_need_each_other_cannot_be_split() -> None:
    traced = fx.symbolic_trace(lambda x: torch.cos(torch.sin(torch.exp(x))))
    with pytest.raises(RuntimeError, match="cycle exists between partitions!"):
        split_module(traced, traced, lambda node: node.name == "sin")


def test_sizes_that_the_function_fixes_stay_numbers() -> None:
    def halves(x: Any) -> Any:
        return torch.nn.functional.glu(x, 0) + x.new_zeros(2, 3)

    x = torch.arange(12.0).view(4, 3)
    made = make_fx(halves, tracing_mode="symbolic")(x)
    assert "sym_size" not in made.code and torch.equal(made(x), halves(x))


def test_sparse_tensors_are_traced() -> None:
    x = torch.eye(2).to_sparse_csr()
    made = make_fx(lambda x, y: torch.sparse.mm(x, y))(x, torch.ones(2, 2))
    assert torch.equal(made(x, torch.ones(2, 2)), torch.ones(2, 2))


def test_symbolic_sizes_are_read_by_an_op() -> None:
    made = make_fx(lambda t: t.view(t.shape[0] * t.shape[1]), tracing_mode="symbolic")(torch.ones(3, 2))
    assert "sym_size_int = torch.ops.aten.sym_size.int(t_1, 0)" in made.code
    assert made(torch.ones(5, 4)).shape == (20,)


def test_a_boxed_run_says_how_many_arguments_it_expects() -> None:
    interpreter = fx.Interpreter(fx.symbolic_trace(lambda x, y: x + y))
    with pytest.raises(RuntimeError, match=r"expected 2 arguments for placeholders but received 1 \(missing arguments\)"):
        interpreter.boxed_run([1])
    with pytest.raises(RuntimeError, match=r"received 3 \(extra arguments\)"):
        interpreter.boxed_run([1, 2, 3])
