"""Products of matrices by packed tiles: the same numbers as NumPy's, whatever the strides, sizes and blocks."""
from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import algorithms

SIZES = [(1, 1, 1), (2, 3, 5), (8, 16, 8), (9, 40, 33), (17, 400, 31), (7, 5, 530), (64, 384, 512), (3, 800, 513)]


@pytest.mark.skipif(algorithms.native is None, reason="not compiled")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m, k, n", SIZES)
def test_products_of_whole_numbers_are_exact(m, k, n, dtype):
    random = np.random.default_rng(m + k + n)
    a, b = random.integers(-9, 9, (m, k)).astype(dtype), random.integers(-9, 9, (k, n)).astype(dtype)
    for left in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2], a[::-1][::-1]):
        for right in (b, np.asfortranarray(b), np.repeat(b, 3, 0)[::3]):
            out = np.full((m, n), np.nan, dtype)
            if algorithms.native.multiply_packed(left, right, out) is not None:
                assert (out == a @ b).all()
            made = algorithms.native.multiply_packed(left, right, None)
            assert made is None or (made == a @ b).all()


@pytest.mark.skipif(algorithms.native is None, reason="not compiled")
def test_unsuitable_matrices_are_refused():
    multiply = algorithms.native.multiply_packed
    a = np.ones((8, 8), np.float32)
    assert multiply(a, a.astype(np.float64), None) is None
    assert multiply(a, a[:4], np.empty((8, 8), np.float32)) is None
    assert multiply(a, a, np.empty((8, 9), np.float32)) is None
    assert multiply(a.astype(np.int64), a.astype(np.int64), None) is None
    assert multiply(a[0], a, None) is None


@pytest.mark.parametrize("size", [12, 70])
def test_linear_layers_agree_with_double_precision(size):
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(size, 2 * size), torch.randn(size + 3, size, requires_grad=True)
    made = layer(x)
    made.sum().backward()
    w, b, values = layer.weight.detach().double(), layer.bias.detach().double(), x.detach().double()
    assert torch.allclose(made.double(), values @ w.t() + b, rtol=1e-5, atol=1e-5)
    assert torch.allclose(x.grad.double(), w.sum(0).expand(size + 3, -1), rtol=1e-4, atol=1e-4)
    assert torch.allclose(layer.weight.grad.double(), values.sum(0).expand(2 * size, -1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("batch", [1, 3, 70])
def test_lstm_agrees_with_its_cells(batch, needs_grad):
    torch.manual_seed(1)
    net = torch.nn.LSTM(5, 9)
    x = torch.randn(6, batch, 5, requires_grad=needs_grad)
    cell = torch.nn.LSTMCell(5, 9)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        setattr(cell, name, getattr(net, f"{name}_l0"))
    h, c, rows = torch.zeros(batch, 9), torch.zeros(batch, 9), []
    for step in x:
        h, c = cell(step, (h, c))
        rows.append(h)
    expected, made = torch.stack(rows), net(x)[0]
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-6)
    inputs = [*net.parameters(), *([x] if needs_grad else [])]
    weights = torch.randn(6, batch, 9)
    for ours, theirs in zip(torch.autograd.grad(made, inputs, weights), torch.autograd.grad(expected, inputs, weights),
                            strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batched_products_and_attention_agree_with_single_ones(dtype):
    torch.manual_seed(2)
    a, b = torch.randn(6, 40, 33, dtype=dtype), torch.randn(6, 33, 50, dtype=dtype)
    for left, right in ((a, b), (a.mT.contiguous().mT, b), (a, b.mT.contiguous().mT)):
        made = torch.bmm(left, right)
        for i in range(6):
            assert torch.allclose(made[i].double(), left[i].double() @ right[i].double(), rtol=1e-4, atol=1e-4)
    q, k, v = (torch.randn(2, 3, 70, 24, dtype=dtype) for _ in range(3))
    weights = torch.softmax(q.double() @ k.double().mT / 24 ** 0.5, -1)
    attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(attended.double(), weights @ v.double(), rtol=1e-4, atol=1e-4)
