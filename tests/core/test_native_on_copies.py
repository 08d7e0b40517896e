"""Compiled algorithms on copies: strides and half precision that they do not take as they are."""
from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import algorithms


def test_no_library_gives_none():
    assert algorithms.native_on_copies(None, "contains", np.ones(2), np.ones(2), False) is None


@pytest.mark.skipif(algorithms.native is None, reason="not compiled")
def test_arrays_with_gaps_are_copied_only_where_they_are_refused():
    table = np.arange(12.0).reshape(3, 4)
    found = algorithms.native_on_copies(algorithms.native, "contains", table.T, np.array([1.0, 5.0]), False)
    assert found.tolist() == (np.isin(table, [1.0, 5.0]).T).tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_segments_of_many_elements_and_their_gradients(dtype):
    data = (torch.arange(6000) % 13).to(dtype).requires_grad_()
    lengths = torch.tensor([2, 0, 3, 1] * 1000)
    result = torch.segment_reduce(data, "sum", lengths=lengths)
    assert result.dtype is dtype
    ends = lengths.cumsum(0).tolist()
    values = data.detach().float().numpy()
    expected = [values[end - n:end].sum() for end, n in zip(ends, lengths.tolist(), strict=True)]
    assert result.detach().float().tolist() == expected
    weights = torch.arange(4000).remainder(7).to(dtype)
    (grad,) = torch.autograd.grad(result, data, weights)
    assert grad.tolist() == np.repeat(weights.float().numpy(), lengths.numpy()).tolist()


@pytest.mark.parametrize("kind", ["igamma", "igammac"])
def test_incomplete_gamma_at_the_borders(kind):
    inf, nan = float("inf"), float("nan")
    a = torch.tensor([0.0, 0.0, 2.0, 2.0, inf, inf, -1.0, nan, 1.0], dtype=torch.float64)
    x = torch.tensor([0.0, 1.0, 0.0, inf, 1.0, inf, 1.0, 1.0, 1.0], dtype=torch.float64)
    lower = [nan, 1.0, 0.0, 1.0, 0.0, nan, nan, nan, 1 - np.exp(-1.0)]
    wanted = lower if kind == "igamma" else [1 - v for v in lower]
    np.testing.assert_allclose(getattr(torch, kind)(a, x).numpy(), wanted, rtol=1e-14)


def test_incomplete_gamma_agrees_with_the_reference_kernel():
    scipy_special = pytest.importorskip("scipy.special")
    random = np.random.default_rng(0)
    for scale in (0.01, 1.0, 30.0, 190.0, 500.0):
        a, x = random.uniform(0, scale, 500), random.uniform(0, 1.5 * scale, 500)
        for kind, reference in (("igamma", scipy_special.gammainc), ("igammac", scipy_special.gammaincc)):
            ours = getattr(torch, kind)(torch.from_numpy(a), torch.from_numpy(x)).numpy()
            np.testing.assert_allclose(ours, reference(a, x), rtol=1e-11, atol=1e-290)


@pytest.mark.parametrize("columns", [1, 3, 4, 7, 31, 40])
def test_sums_down_few_columns(columns):
    x = torch.arange(5000 * columns).remainder(11).reshape(5000, columns)
    for dtype in (torch.float32, torch.int64):
        expected = x.numpy().sum(0)
        assert x.to(dtype).sum(0).tolist() == expected.tolist()
        assert x.to(dtype).amax(0).tolist() == x.numpy().max(0).tolist()
        assert x.to(dtype)[1:-2].amin(0).tolist() == x.numpy()[1:-2].min(0).tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("size", [1, 7, 70_001])
def test_fill_writes_every_element_and_no_other(dtype, size):
    x = torch.zeros(size + 2).to(dtype)
    x[1:-1].fill_(1)
    assert x.float().sum().item() == size
    x[1:-1].fill_(torch.zeros((), dtype=dtype))
    assert x.float().sum().item() == 0
    x.fill_(1)
    x[1:-1].zero_()
    assert x.float().sum().item() == 2 and torch.ones(size, dtype=dtype).float().sum().item() == size


@pytest.mark.parametrize("shape", [(5, 4), (6, 2, 9), (3, 33), (4, 1), (7, 8)])
def test_flip_of_short_rows(shape):
    for dtype in (torch.uint8, torch.int32, torch.float64):
        x = torch.arange(int(np.prod(shape))).to(dtype).reshape(shape)
        assert x.flip(0).tolist() == np.flip(x.numpy(), 0).tolist()
        assert x.flip(-1).tolist() == np.flip(x.numpy(), -1).tolist()


def test_pooled_integers_are_exact_or_computed_as_integers():
    pool = torch.nn.functional
    x = torch.arange(48).reshape(2, 4, 6) - 20
    windows = x.numpy().reshape(2, 2, 2, 3, 2).transpose(0, 1, 3, 2, 4).reshape(2, 2, 3, 4)
    assert pool.max_pool2d(x, 2).tolist() == windows.max(-1).tolist()
    big = x + 2 ** 60
    assert pool.max_pool2d(big, 2).tolist() == (windows.max(-1) + 2 ** 60).tolist()
    assert pool.avg_pool2d(x, 2).tolist() == np.trunc(windows.sum(-1) / 4).astype(int).tolist()


def test_powers_of_zero_and_neighbours():
    x = torch.tensor([float("nan"), float("inf"), 0.0, -2.0])
    assert x.pow(0).tolist() == [1.0] * 4
    a, b = torch.tensor([1.0, -1.0, 0.0, 2.0]), torch.tensor([2.0, -2.0, -1.0, 2.0])
    assert torch.nextafter(a, b).tolist() == np.nextafter(a.numpy(), b.numpy()).tolist()
    halves = torch.nextafter(a.bfloat16(), b.bfloat16())
    assert halves.tolist() == [1.0078125, -1.0078125, -9.183549615799121e-41, 2.0]


def test_products_of_bytes_are_exact():
    random = np.random.default_rng(0)
    for inner in (3, 514, 700):
        a, b = random.integers(-128, 128, (4, inner)), random.integers(-128, 128, (inner, 5))
        made = torch._int_mm(torch.from_numpy(a.astype(np.int8)), torch.from_numpy(b.astype(np.int8)))
        assert made.dtype is torch.int32 and made.tolist() == (a @ b).tolist()
