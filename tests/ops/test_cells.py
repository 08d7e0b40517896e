"""Single recurrent steps are those of the modules; conditions are checked when their values are there."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import nn


@pytest.mark.parametrize(("cell", "function"), [
    (nn.GRUCell(3, 2), torch.gru_cell), (nn.RNNCell(3, 2), torch.rnn_tanh_cell),
    (nn.RNNCell(3, 2, nonlinearity="relu"), torch.rnn_relu_cell), (nn.LSTMCell(3, 2), torch.lstm_cell)])
@pytest.mark.parametrize("bias", [True, False])
def test_cells_agree_with_modules(cell: Any, function: Any, bias: bool) -> None:
    torch.manual_seed(0)
    x, h = torch.randn(4, 3), torch.randn(4, 2)
    state = (h, torch.randn(4, 2)) if isinstance(cell, nn.LSTMCell) else h
    if not bias:
        cell = type(cell)(3, 2, bias=False, **({"nonlinearity": cell.nonlinearity} if isinstance(cell, nn.RNNCell) else {}))
    parameters = [cell.weight_ih, cell.weight_hh, *([cell.bias_ih, cell.bias_hh] if bias else [])]
    found, expected = function(x, state, *parameters), cell(x, state)
    for a, b in zip(found if isinstance(found, tuple) else [found], expected if isinstance(expected, tuple) else [expected],
                    strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_conditions_raise_in_their_own_words() -> None:
    torch._assert_async(torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got zero"):
        torch._assert_async(torch.zeros(()))
    with pytest.raises(RuntimeError, match="too small"):
        torch._assert_async(torch.tensor(False), "too small")
    with pytest.raises(RuntimeError, match="ambiguous"):
        torch._assert_async(torch.ones(2))
    token = torch.ones(1)
    assert torch._functional_assert_async(torch.tensor(True), "never", token) is not token


def test_lists_of_matrices_and_of_sums_of_powers() -> None:
    a = torch.ones(2, 2, requires_grad=True)
    (product,) = torch._foreach_mm([a], [torch.full((2, 2), 2.0)])
    assert product.tolist() == [[4, 4], [4, 4]] and product.grad_fn.name() == "ForeachMmBackward0"
    assert torch._foreach_powsum([torch.tensor([1.0, -2.0])], 3)[0] == 9
    assert torch._foreach_powsum([torch.tensor([1.0])], dtype=torch.float64)[0].dtype is torch.float64
