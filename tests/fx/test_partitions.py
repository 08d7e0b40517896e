"""Passes over graphs: what is supported, partitions, submodules made of nodes, patterns, order and repeated values."""
from __future__ import annotations

import operator
from typing import Any

import pytest

import retrograd as torch
from retrograd.fx import symbolic_trace
from retrograd.fx.experimental.proxy_tensor import make_fx
from retrograd.fx.passes.dialect.common.cse_pass import CSEPass, fx_graph_cse
from retrograd.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from retrograd.fx.passes.infra.pass_base import PassResult
from retrograd.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint
from retrograd.fx.passes.operator_support import OperatorSupport, OpSupports, any_chain, chain, create_op_support
from retrograd.fx.passes.tools_common import legalize_graph, stable_topological_sort
from retrograd.fx.passes.utils.fuser_utils import fuse_by_partitions
from retrograd.fx.passes.utils.matcher_utils import SubgraphMatcher

ADDS = create_op_support(lambda modules, node: node.op == "call_function" and node.target is operator.add)


def long(a: Any, b: Any, c: Any) -> Any:
    x = a + b
    y = x + c
    z = y.relu()
    return x + y + z, x


def back_and_forth(a: Any) -> Any:
    x = a + 1
    return x + torch.relu(x)


@pytest.mark.parametrize(("f", "count", "wanted"), [
    (long, 3, [["add_2", "add_3"], ["add", "add_1"]]), (back_and_forth, 1, [])])
def test_partitions_are_as_large_as_they_can_be_without_cycles(f: Any, count: int, wanted: list[list[str]]) -> None:
    traced = symbolic_trace(f)
    args = [torch.randn(3) for _ in range(count)]
    before = traced(*args)
    partitioner = CapabilityBasedPartitioner(traced, ADDS)
    found = partitioner.propose_partitions()
    assert [[node.name for node in part.nodes] for part in found] == wanted
    fused = partitioner.fuse_partitions(found)
    called = [node.target for node in fused.graph.find_nodes(op="call_module")]
    assert called == [f"fused_{i}" for i in reversed(range(len(wanted)))]
    torch.testing.assert_close(fused(*args), before)


def test_single_nodes_are_partitions_only_where_that_is_allowed() -> None:
    alone = CapabilityBasedPartitioner(symbolic_trace(back_and_forth), ADDS, allows_single_node_partition=True)
    assert len(alone.propose_partitions()) == 2
    named = CapabilityBasedPartitioner(symbolic_trace(back_and_forth), ADDS,
                                       allowed_single_node_partition_ops=["_operator.add"])
    assert len(named.propose_partitions()) == 2
    free = CapabilityBasedPartitioner(symbolic_trace(long), ADDS, non_compute_ops=["_operator.add"])
    assert free.propose_partitions() == []


def test_nodes_whose_values_come_back_are_not_made_one() -> None:
    traced = symbolic_trace(back_and_forth)
    adds = dict.fromkeys(traced.graph.find_nodes(op="call_function", target=operator.add))
    with pytest.raises(AssertionError, match="Invalid partition, found dependency cycles"):
        fuse_by_partitions(traced, [adds])


def test_rules_of_support_are_combined() -> None:
    node = symbolic_trace(back_and_forth).graph.find_nodes(op="call_function", target=operator.add)[0]
    yes, no = create_op_support(lambda m, n: True), create_op_support(lambda m, n: False)
    assert OperatorSupport({"_operator.add": None}).is_node_supported({}, node)
    assert not OperatorSupport().is_node_supported({}, node)
    assert any_chain(yes, no).is_node_supported({}, node) and not chain(yes, no).is_node_supported({}, node)
    assert not OpSupports.decline_if_node_in_names({"add"}).is_node_supported({}, node)
    assert OpSupports.decline_if_input_dtype(torch.float16).is_node_supported({}, node)


def names(pattern: Any, f: Any, **options: Any) -> list[list[str]]:
    found = SubgraphMatcher(symbolic_trace(pattern).graph, **options).match(symbolic_trace(f).graph)
    return [[str(node) for node in match.returning_nodes] for match in found]


def test_patterns_are_found_where_only_their_results_are_used_outside() -> None:
    def f(a: Any) -> Any:
        x = a + 1
        return torch.relu(x) * (x * 2)

    assert names(lambda x: torch.relu(x), f) == [["relu"]] and names(lambda x: torch.relu(x + 1), f) == []
    assert names(lambda x: (torch.relu(x), x * 2), f) == [["relu", "mul"]]
    assert names(lambda x: x + 3, f) == [] and names(lambda x: x + 3, f, ignore_literals=True) == [["add"]]
    assert names(lambda x, y: x * y, f) == [["mul"], ["mul_1"]] and names(f, f, match_output=True) == [["mul_1"]]
    chained = [names(lambda x: x.sin().sin(), lambda x: x.sin().sin().sin(), remove_overlapping_matches=removed)
               for removed in (True, False)]
    assert chained == [[["sin_1"]], [["sin_1"], ["sin_2"]]]
    with pytest.raises(AssertionError, match="pattern with dead code"):
        names(lambda x: (torch.relu(x), x + 1)[1], f)


def test_passes_run_in_an_order_that_constraints_ask_for() -> None:
    ran: list[str] = []

    def first(module: Any) -> PassResult:
        ran.append("first")
        return PassResult(module, True)

    def second(module: Any) -> None:
        ran.append("second")

    traced = symbolic_trace(back_and_forth)
    wrapped = pass_result_wrapper(second)
    manager = PassManager(passes=[wrapped, first], constraints=[this_before_that_pass_constraint(first, wrapped)], steps=2)
    assert manager(traced).modified and ran == ["first", "second", "first", "second"]
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        PassManager(passes=[wrapped, first], constraints=manager.constraints).validate_constraints()
    both = [this_before_that_pass_constraint(first, wrapped), this_before_that_pass_constraint(wrapped, first)]
    with pytest.raises(RuntimeError, match="Circular dependency detected within the following passes"):
        PassManager(passes=[wrapped, first], constraints=both)(traced)
    with pytest.raises(Exception, match="An error occurred when running the 'second' pass after the following"):
        PassManager(passes=[first, second])(traced)
    with pytest.raises(TypeError, match="check function should only take in one variable"):
        PassManager().add_checks(lambda a, b: None)


def test_values_are_computed_once_unless_they_are_random_or_written() -> None:
    traced = make_fx(lambda x: x.cos() + x.cos() + x.sum() + x.sum())(torch.ones(3))
    made = CSEPass()(traced)
    assert made is not None and made.modified and made.graph_module.code.count("aten.cos") == 1
    assert made.graph_module.code.count("aten.sum") == 1
    assert len(fx_graph_cse(traced.graph).nodes) == len(traced.graph.nodes) - 2
    random = make_fx(lambda x: torch.rand_like(x) + torch.rand_like(x))(torch.ones(3))
    again = CSEPass()(random)
    assert again is not None and not again.modified
    kept = CSEPass(banned_ops={torch.ops.aten.cos})(traced)
    assert kept is not None and kept.graph_module.code.count("aten.cos") == 2


def test_nodes_come_before_their_uses() -> None:
    for order in (legalize_graph, stable_topological_sort):
        traced = symbolic_trace(lambda x, y: (x + 1) * (y + 2))
        nodes = {node.name: node for node in traced.graph.nodes}
        nodes["mul"].append(nodes["add"])
        assert [node.name for node in order(traced).graph.nodes].index("mul") == 4
        assert order(traced)(torch.tensor(2), torch.tensor(3)) == 15


class Weighted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: Any, y: Any) -> Any:
        return (torch.relu(x) + self.weight * y).clamp(min=0)


def test_fused_nodes_take_parameters_as_inputs_and_stay_where_the_last_of_them_was() -> None:
    traced = symbolic_trace(Weighted())
    inside = {node: None for node in traced.graph.nodes if node.target in (operator.add, operator.mul)}
    fused = fuse_by_partitions(traced, [inside])
    assert [node.name for node in fused.graph.nodes] == ["x", "y", "relu", "weight", "fused_0", "clamp", "output"]
    assert not list(fused.fused_0.parameters())
    x = torch.tensor([1.0, -2.0])
    assert torch.equal(fused(x, x), Weighted()(x, x))


def test_arithmetic_comes_early_in_legalized_graphs() -> None:
    order = [node.name for node in legalize_graph(symbolic_trace(Weighted())).graph.nodes]
    assert order == ["x", "y", "weight", "mul", "relu", "add", "clamp", "output"]
