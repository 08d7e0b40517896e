"""Recurrent layers, attention, integer and half-precision products: compiled and with NumPy, in all layouts."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.ops.linalg import matmul
from retrograd.ops.nn import attention, recurrent


@pytest.fixture(params=["as built", "with NumPy"])
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "with NumPy":
        for module in (matmul, attention, recurrent):
            monkeypatch.setattr(module, "native", None)


def lstm_by_steps(lstm: Any, x: Any) -> Any:
    """The first layer in the first direction, written out."""
    h = c = torch.zeros(x.shape[1], lstm.hidden_size, dtype=x.dtype)
    made = []
    for step in x:
        gates = F.linear(step, lstm.weight_ih_l0, lstm.bias_ih_l0) + F.linear(h, lstm.weight_hh_l0, lstm.bias_hh_l0)
        i, f, g, o = gates.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        made.append(h)
    return torch.stack(made)


@pytest.mark.usefixtures("way")
def test_an_lstm_is_its_steps() -> None:
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(3, 20)
    x = torch.randn(5, 2, 3, requires_grad=True)
    inputs = [x, *lstm.parameters()]
    made, wanted = lstm(x)[0], lstm_by_steps(lstm, x)
    assert type(made.grad_fn).__name__ == "MkldnnRnnLayerBackward0"
    np.testing.assert_allclose(made.detach().numpy(), wanted.detach().numpy(), atol=1e-6)
    for a, b in zip(torch.autograd.grad((made * made).sum(), inputs), torch.autograd.grad((wanted * wanted).sum(), inputs),
                    strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("way")
def test_an_lstm_saturates_without_overflow() -> None:
    lstm = torch.nn.LSTM(1, 2)
    out = lstm(torch.tensor([[[1e6]], [[-1e6]], [[3e38]]]))[0]
    assert torch.isfinite(out).all()
    assert lstm(torch.full((1, 1, 1), float("nan")))[0].isnan().all()


def reference(q: Any, k: Any, v: Any, mask: Any, causal: bool) -> Any:
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -float("inf"))
    return scores.softmax(-1) @ v


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_its_formula(dtype: Any, causal: bool) -> None:
    torch.manual_seed(0)
    for queries, keys in ((3, 5), (70, 70), (130, 40), (1, 1)):
        q, k, v = [torch.randn(2, n, 3, 8, dtype=dtype).transpose(1, 2).requires_grad_() for n in (queries, keys, keys)]
        for mask in (None, torch.randn(queries, keys, dtype=dtype), torch.randn(2, 1, 1, keys, dtype=dtype)):
            if mask is not None and causal:
                continue
            made, wanted = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal), reference(q, k, v, mask, causal)
            np.testing.assert_allclose(made.detach().numpy(), wanted.detach().numpy(), atol=1e-5)
            slope = torch.randn(made.shape, dtype=dtype)
            for a, b in zip(torch.autograd.grad(made, (q, k, v), slope), torch.autograd.grad(wanted, (q, k, v), slope),
                            strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), atol=2e-5)


@pytest.mark.usefixtures("way")
def test_a_query_that_sees_nothing_gets_nothing() -> None:
    q = torch.randn(1, 1, 2, 4)
    made = F.scaled_dot_product_attention(q, q, q, torch.tensor([[True, True], [False, False]]))
    assert made[0, 0, 1].tolist() == [0.0] * 4 and torch.isfinite(made).all()


@pytest.mark.usefixtures("way")
def test_products_of_integers_wrap_around() -> None:
    source = np.random.default_rng(0)
    for dtype in ("int64", "int32", "int16", "int8", "uint8"):
        for size in (3, 40):
            limits = np.iinfo(dtype)
            for low, high in ((0, 9), (limits.min, limits.max)):
                a, b = (source.integers(low, high, (size, size), dtype) for _ in range(2))
                with np.errstate(over="ignore"):
                    wanted = np.einsum("ij,jk->ik", a, b)
                assert (torch.tensor(a) @ torch.tensor(b)).numpy().tolist() == wanted.tolist()


@pytest.mark.usefixtures("way")
def test_products_in_half_precision_are_rounded_once() -> None:
    torch.manual_seed(0)
    for dtype in (torch.bfloat16, torch.float16):
        a, b = torch.randn(9, 17).to(dtype), torch.randn(17, 5).to(dtype)
        wanted = (a.float() @ b.float()).to(dtype)
        assert torch.equal(a @ b, wanted)
        assert torch.equal(a.t().contiguous().t() @ b, wanted)
    odd = torch.tensor([[float("nan"), float("inf"), 3e38, 1e-40]]).to(torch.bfloat16)
    assert str((odd.t() @ torch.ones(1, 1, dtype=torch.bfloat16)).flatten().tolist()) == str(odd.flatten().tolist())
