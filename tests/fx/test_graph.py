"""Graphs, nodes and the code that is written from them."""
from __future__ import annotations

import copy
import itertools
import operator
from typing import Any

import pytest

import retrograd as torch
from retrograd import fx, nn
from retrograd.fx.immutable_collections import immutable_dict, immutable_list


def simple() -> fx.Graph:
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y", type_expr=torch.Tensor, default_value=1.5)
    added = graph.call_function(torch.add, (x, y))
    clamped = graph.call_method("clamp", (added,), {"min": 0.0})
    part = graph.call_function(operator.getitem, (clamped, slice(None, 3, None)))
    graph.output((part, graph.call_function(operator.mul, (part, float("inf")))))
    return graph


def code_of(graph: fx.Graph) -> str:
    return graph.python_code("self").src


def test_graph_is_printed_line_by_line() -> None:
    assert str(simple()) == """graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : torch.Tensor [num_users=1] = placeholder[target=y](default=1.5)
    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %y), kwargs = {})
    %clamp : [num_users=1] = call_method[target=clamp](args = (%add,), kwargs = {min: 0.0})
    %getitem : [num_users=2] = call_function[target=operator.getitem](args = (%clamp, slice(None, 3, None)), kwargs = {})
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%getitem, inf), kwargs = {})
    return (getitem, mul)"""


def test_code_frees_values_after_their_last_use() -> None:
    assert code_of(simple()) == """


def forward(self, x, y : torch.Tensor = 1.5):
    add = torch.add(x, y);  x = y = None
    clamp = add.clamp(min = 0.0);  add = None
    getitem = clamp[slice(None, 3, None)];  clamp = None
    mul = getitem * inf
    return (getitem, mul)
    """


@pytest.mark.parametrize(("hint", "expected"), [
    (["relu", "relu", "relu_1", "relu_5", "relu"], ["relu", "relu_1", "relu_2", "relu_5", "relu_6"]),
    (["sum", "sum", "max_1", "max"], ["sum_1", "sum_2", "max_1", "max_2"]),
    (["1x", "a.b", "class", "torch", "device", "inf"], ["_1x", "a_b", "class_1", "torch_1", "device_1", "inf_1"]),
    (["x_1", "x_1", "x", "x_2", "x_2_3", "x_2_3"], ["x_1", "x_2", "x", "x_3", "x_2_3", "x_2_4"]),
])
def test_names_are_unique_and_no_words_of_python(hint: list[str], expected: list[str]) -> None:
    graph = fx.Graph()
    assert [graph.create_node("call_method", "m", name=name).name for name in hint] == expected


def test_nodes_are_added_where_the_scope_says() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    with graph.inserting_after(x):
        graph.call_method("a", (x,))
        graph.call_method("b", (x,))
    with graph.inserting_before(x):
        graph.call_method("c")
        graph.call_method("d")
    assert [node.name for node in graph.nodes] == ["c", "d", "x", "b", "a"]
    assert [node.name for node in reversed(graph.nodes)] == ["a", "b", "x", "d", "c"]


def test_order_of_nodes_is_their_order_in_the_graph() -> None:
    graph = simple()
    nodes = list(graph.nodes)
    assert all([a < b and b > a and a <= a for a, b in itertools.pairwise(nodes)]) and max(nodes) is nodes[-1]
    nodes[0].append(late := graph.call_method("late", (nodes[0],)))
    assert nodes[0] < late < nodes[1]


def test_users_follow_the_arguments() -> None:
    graph = simple()
    x, y, added, clamped, part, product, out = graph.nodes
    assert list(x.users) == [added] and product.all_input_nodes == [part]
    clamped.args = (x,)
    assert list(x.users) == [added, clamped] and not added.users
    part.replace_all_uses_with(added)
    assert out.args == ((added, product),) and product.args[0] is added
    product.update_arg(1, y)
    product.update_kwarg("k", [x])
    assert list(y.users) == [added, product] and product in x.users
    product.insert_arg(0, 7)
    assert product.args == (7, added, y)


def test_used_node_cannot_be_erased() -> None:
    graph = simple()
    added = graph.find_nodes(op="call_function", target=torch.add)[0]
    with pytest.raises(RuntimeError, match=r"Tried to erase Node add but it still had 1 users in the graph: \{clamp: None\}!"):
        graph.erase_node(added)


def test_erasing_while_going_through_the_graph() -> None:
    graph = simple()
    for node in reversed(graph.nodes):
        if node.op != "placeholder":
            graph.erase_node(node)
    assert [node.name for node in graph.nodes] == ["x", "y"] and len(graph.nodes) == 2


def test_lint_finds_a_use_before_the_definition() -> None:
    graph = simple()
    x, _, added, *_ = graph.nodes
    added.append(x)
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        graph.lint()


def test_lint_finds_a_missing_attribute() -> None:
    graph = fx.Graph(nn.Module())
    graph.get_attr("weight")
    with pytest.raises(RuntimeError, match="references nonexistent attribute weight"):
        graph.lint()


def test_dead_code_goes_and_side_effects_stay() -> None:
    def log(x: Any) -> None:
        pass
    fx.node.has_side_effect(log)
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.sin, (x,))
    graph.call_function(log, (x,))
    graph.call_function(torch.ops.aten.add_.Tensor, (x, 1))
    graph.output(x)
    assert graph.eliminate_dead_code() and not graph.eliminate_dead_code()
    assert [node.name for node in graph.nodes] == ["x", "log", "add__tensor", "output"]


def test_copy_of_a_graph_is_independent() -> None:
    graph = simple()
    twin = copy.deepcopy(graph)
    assert str(twin) == str(graph)
    twin.erase_node(twin.output_node())
    assert len(twin.nodes) == len(graph.nodes) - 1


def test_graph_copy_returns_the_result() -> None:
    graph = fx.Graph()
    result = graph.graph_copy(simple(), {})
    graph.output(result)
    assert str(graph) == str(simple())


def test_arguments_of_a_node_are_immutable() -> None:
    graph = fx.Graph()
    node = graph.call_function(torch.cat, ([1, 2],), {"d": {"k": 1}})
    assert type(node.args[0]) is immutable_list and type(node.kwargs["d"]) is immutable_dict
    for change in (lambda: node.args[0].append(3), lambda: node.kwargs.update(a=1), lambda: node.args[0].__setitem__(0, 1)):
        with pytest.raises(TypeError, match="object does not support mutation"):
            change()
    assert hash(node.args[0]) == hash(immutable_list([1, 2]))


def test_target_must_fit_the_op() -> None:
    with pytest.raises(ValueError, match="but a Callable is expected"):
        fx.Graph().create_node("call_function", "relu")
    with pytest.raises(ValueError, match="but a str is expected"):
        fx.Graph().create_node("call_method", torch.relu)


@pytest.mark.parametrize(("target", "args", "kwargs", "line"), [
    (operator.add, (1, 2), {}, "add = 1 + 2"),
    (operator.invert, (1,), {}, "invert = ~1"),
    (operator.matmul, (1, 2), {}, "matmul = 1 @ 2"),
    (operator.iadd, (1, 2), {}, "1 += 2;  iadd = 1"),
    (operator.setitem, (1, 2, 3), {}, "1[2] = 3;  setitem = 1"),
    (getattr, (1, "real"), {}, "getattr_1 = 1.real"),
    (getattr, (1, "a b"), {}, "getattr_1 = getattr(1, 'a b')"),
    (torch.zeros, ((2, 3),), {"dtype": torch.float32, "device": torch.device("cpu")},
     "zeros = torch.zeros((2, 3), dtype = torch.float32, device = device(type='cpu'))"),
    (torch.ops.aten.mul.Tensor, (1, 2), {}, "mul_tensor = torch.ops.aten.mul.Tensor(1, 2)"),
    (torch.nn.functional.relu, (1,), {"inplace": True}, "relu = torch.nn.functional.relu(1, inplace = True)"),
    (torch.nn.functional.linear, (1, 2), {}, "linear = torch._C._nn.linear(1, 2)"),
    (len, ([],), {}, "len_1 = len([])"),
    (operator.add, ({"a": (1,)}, [None, ...]), {}, "add = {'a': (1,)} + [None, Ellipsis]"),
])
def test_calls_are_written_as_python(target: Any, args: Any, kwargs: Any, line: str) -> None:
    graph = fx.Graph()
    graph.output(graph.call_function(target, args, kwargs))
    assert code_of(graph).split("\n")[4].strip() == line


def test_table_of_nodes(capsys: Any) -> None:
    fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"] and len(lines) == 5


def test_lines_can_be_transformed() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)
    scope = module.graph.on_generate_code(lambda before: lambda body: ["print('hello')\n", *body])
    module.recompile()
    assert "print('hello')" in module.code
    with scope:
        pass
    module.recompile()
    assert "print" not in module.code


def test_overload_named_like_a_keyword_is_callable() -> None:
    graph = torch.fx.Graph()
    made = graph.call_function(getattr(torch.ops.aten.random_, "from"), (graph.placeholder("x"), 0, 1))
    graph.output(made)
    module = torch.fx.GraphModule({}, graph)
    assert module(torch.ones(2)).tolist() == [0, 0]
