"""Decompositions give what the ops give, and replace them in traces."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import _decomp
from retrograd.fx.experimental.proxy_tensor import make_fx

aten: Any = torch.ops.aten


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def unit(*shape: int) -> Any:
    return torch.sigmoid(normal(*shape))


GRAD, X, Y = normal(3, 4), normal(4, 3).t(), normal(2, 3, 4)[1]
MEAN, RSTD = X.mean(1, keepdim=True), (X.var(1, keepdim=True, correction=0) + 1e-5).rsqrt()
CASES: dict[str, list[tuple[Any, ...]]] = {
    "tanh_backward.default": [(GRAD, X.tanh())], "sigmoid_backward.default": [(GRAD, X.sigmoid())],
    "softplus_backward.default": [(GRAD, X, 2.0, 0.5)], "elu_backward.default": [(GRAD, 0.7, 1.1, 0.9, False, X),
                                                                               (GRAD, 0.7, 1.1, 1.0, True, X.clamp(min=-0.7))],
    "hardsigmoid.default": [(X * 3,)], "hardsigmoid_backward.default": [(GRAD, X * 3)],
    "hardtanh_backward.default": [(GRAD, X, -0.5, 0.5)], "hardswish.default": [(X * 3,)],
    "hardswish_backward.default": [(GRAD, X * 3)], "threshold_backward.default": [(GRAD, X, 0.1)],
    "leaky_relu_backward.default": [(GRAD, X, 0.1, False)], "mish_backward.default": [(GRAD, X)],
    "gelu_backward.default": [(GRAD, X)], "silu.default": [(X,)], "silu_backward.default": [(GRAD, X)],
    "log_sigmoid_backward.default": [(GRAD, X, torch.exp(-X.abs()))],
    "logit_backward.default": [(GRAD, unit(3, 4)), (GRAD, X, 0.2)], "glu_backward.default": [(GRAD[:, :2], X, 1)],
    "mse_loss.default": [(X, Y, reduction) for reduction in (0, 1, 2)], "mse_loss_backward.default": [(GRAD, X, Y, 1)],
    "smooth_l1_loss.default": [(X, Y, 1, 0.6)], "huber_loss.default": [(X, Y, 0, 0.6)], "soft_margin_loss.default": [(X, Y)],
    "binary_cross_entropy.default": [(unit(3, 4), unit(3, 4).round(), GRAD, 1)],
    "_softmax.default": [(X, 1, False)], "_log_softmax.default": [(X, 0, False)],
    "_softmax_backward_data.default": [(GRAD, X.softmax(1), 1, torch.float64)],
    "_log_softmax_backward_data.default": [(GRAD, X.log_softmax(1), 1, torch.float64)],
    "addmm.default": [(normal(3, 3), X, Y.t())], "addmv.default": [(normal(3), X, normal(4))],
    "baddbmm.default": [(normal(2, 3, 3), normal(2, 3, 4), normal(2, 4, 3))], "mv.default": [(X, normal(4))],
    "dot.default": [(normal(4), normal(4) + 1)], "trace.default": [(X,)],
    "addcdiv.default": [(X, Y, GRAD)], "addcmul.default": [(X, Y, GRAD)], "lerp.Tensor": [(X, Y, unit(3, 4))],
    "logaddexp.default": [(X, Y), (torch.tensor([float("inf")]), torch.tensor([float("inf")]))],
    "xlogy.Tensor": [(torch.tensor([0, 2]), torch.tensor([0.0, 3.0]))], "heaviside.default": [(X.round(), Y)],
    "hypot.default": [(X, Y)], "sinc.default": [(torch.tensor([0.0, 0.3]),)], "frac.default": [(X * 5,)],
    "rsub.Tensor": [(X, Y)], "masked_fill.Scalar": [(X, Y > 0, 2.0)], "clamp_min.default": [(X, 0.1)],
    "clamp_max.default": [(X, 0.1)], "slice_backward.default": [(GRAD, [3, 9], 1, 1, 9, 2)],
    "select_backward.default": [(GRAD, [3, 2, 4], 1, 1)], "diagonal_backward.default": [(normal(3), [3, 4], 0, 0, 1)],
    "native_layer_norm_backward.default": [(GRAD, X, [4], MEAN, RSTD, normal(4), normal(4), [True, True, True]),
                                           (GRAD, X, [4], MEAN, RSTD, None, None, [True, False, False])],
    "native_dropout_backward.default": [(GRAD, X > 0, 2.0)], "embedding.default": [(X, torch.tensor([[0, 2]]))],
    "detach.default": [(X,)],
}


@pytest.mark.parametrize("name", sorted([str(op).removeprefix("aten.") for op in _decomp.decomposition_table]))
def test_a_decomposition_gives_what_the_op_gives(name: str) -> None:
    packet, overload = name.split(".")
    op = getattr(getattr(aten, packet), overload)
    for args in CASES[name]:
        torch.testing.assert_close(_decomp.decomposition_table[op](*args), op(*args))


def test_traces_have_the_ops_of_a_decomposition() -> None:
    table = _decomp.get_decompositions([aten.addmm, aten.sin])
    made = make_fx(torch.addmm, decomposition_table=table)(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2))
    assert [node.target for node in made.graph.nodes if node.op == "call_function"] == [aten.mm.default, aten.add.Tensor]


def test_tables_refuse_a_second_decomposition_and_unknown_kinds() -> None:
    table: dict[Any, Any] = {}
    _decomp.register_decomposition([aten.sin.default, aten.cos], table)(lambda x: x)
    assert aten.cos.default in table and aten.cos.out in table
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.sin.default"):
        _decomp.register_decomposition(aten.sin.default, table)(lambda x: x)
    _decomp.remove_decompositions(table, [aten.cos])
    assert list(table) == [aten.sin.default]
    with pytest.raises(AssertionError, match="must be one of"):
        _decomp.get_decompositions([], type="other")
