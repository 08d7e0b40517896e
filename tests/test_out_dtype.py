"""out_dtype: products whose result is wider than their operands."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd._higher_order_ops.out_dtype import out_dtype

aten = torch.ops.aten


def test_products_of_bytes_do_not_overflow() -> None:
    a = torch.tensor([[100, 100], [-128, 5]], dtype=torch.int8)
    product = out_dtype(aten.mm.default, torch.int32, a, a)
    assert product.dtype is torch.int32 and product.equal(a.int() @ a.int())
    assert out_dtype(aten.mul.Scalar, torch.int32, a, 3).tolist() == [[300, 300], [-384, 15]]


def test_narrow_results_are_rounded_once() -> None:
    a = torch.full((1, 4096), 1.0)
    assert out_dtype(aten.mm.default, torch.float16, a, a.t()).item() == 4096


@pytest.mark.parametrize(("op", "text"), [(aten.mm, "must be an OpOverload"), (aten.mul_.Tensor, "needs to be a functional"),
                                          (aten.add.Tensor, "only allows the following operators")])
def test_other_operators_are_refused(op: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        out_dtype(op, torch.int32, torch.ones(1, 1), torch.ones(1, 1))


def test_graphs_have_one_node_for_it() -> None:
    def f(a: torch.Tensor) -> torch.Tensor:
        return out_dtype(aten.mm.default, torch.int32, a, a) + 1

    graph = torch.fx.experimental.proxy_tensor.make_fx(f)(torch.ones(2, 2, dtype=torch.int8))
    assert [node.name for node in graph.graph.nodes][1] == "out_dtype"
    assert graph(torch.full((2, 2), 100, dtype=torch.int8)).tolist() == [[20001, 20001], [20001, 20001]]
