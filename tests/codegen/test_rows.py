"""Rows side by side in memory, channels that are columns, resized images: values, and the same bits with any threads."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.nn import upsample

F: Any = torch.nn.functional
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def with_threads(compute: Any) -> list[Any]:
    """Results with 1, 2 and 7 threads, which are the same bit by bit."""
    threads, made = torch.get_num_threads(), []
    try:
        for count in (1, 2, 7):
            torch.set_num_threads(count)
            made.append(compute())
    finally:
        torch.set_num_threads(threads)
    for other in made[1:]:
        for a, b in zip(made[0], other, strict=True):
            assert torch.equal(a, b)
    return made[0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape, dim", [((40, 130), 0), ((3, 7, 65), 1), ((2, 300, 4), 1), ((5, 6, 3), 0), ((2, 3, 9), 1)])
def test_softmax_along_a_dimension_is_that_of_rows(dtype: Any, shape: tuple[int, ...], dim: int) -> None:
    for name in ("softmax", "log_softmax", "logsumexp"):
        x = (numbers(*shape) * 3).to(dtype).requires_grad_()

        def run(name: str = name, x: Any = x) -> list[Any]:
            made = getattr(torch, name)(x, dim)
            grad, = torch.autograd.grad(made, x, torch.linspace(-1, 1, made.numel()).reshape(made.shape).to(dtype))
            return [made.detach(), grad]
        made, grad = with_threads(run)
        wide = x.detach().double().transpose(dim, -1).contiguous().requires_grad_()
        wanted = getattr(torch, name)(wide, -1)
        weights = torch.linspace(-1, 1, made.numel()).reshape(made.shape).to(dtype).double()
        weights = weights if name == "logsumexp" else weights.transpose(dim, -1)
        if name == "logsumexp":
            wanted = wanted.reshape([s for i, s in enumerate(wide.shape) if i != wide.ndim - 1])
            order = [i for i in range(wide.ndim) if i != dim]
            places = [dim if i == wide.ndim - 1 else i for i in order]
            wanted = wanted.permute([sorted(places).index(p) for p in places]) if len(places) > 1 else wanted
        expected, = torch.autograd.grad(wanted, wide, weights)
        wanted = wanted if name == "logsumexp" else wanted.transpose(dim, -1)
        torch.testing.assert_close(made.double(), wanted.detach(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        most = 4 * TOLERANCE[dtype]
        torch.testing.assert_close(grad.double(), expected.transpose(dim, -1), rtol=most, atol=most)


def test_softmax_down_columns_keeps_infinities_and_nan() -> None:
    x = numbers(70, 70)
    x[3, 5], x[4, 6], x[:, 7] = float("nan"), float("inf"), float("-inf")
    for name in ("softmax", "log_softmax"):
        made = getattr(torch, name)(x, 0)
        torch.testing.assert_close(made, getattr(torch, name)(x.t().contiguous(), 1).t(), equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_a_matrix_is_that_of_images(dtype: Any, training: bool) -> None:
    x = (numbers(90, 50) * 2 + 1).to(dtype)
    weight, bias, mean, var = (numbers(50, seed=i).abs().to(dtype) for i in range(1, 5))
    grad = numbers(90, 50, seed=9).to(dtype)

    def run(x: Any, w: Any, b: Any, m: Any, v: Any, g: Any) -> list[Any]:
        leaves = [t.clone().requires_grad_() for t in (x, w, b)]
        running = m.clone(), v.clone()
        made = F.batch_norm(leaves[0], *running, leaves[1], leaves[2], training=training, momentum=0.1)
        return [made.detach(), *running, *torch.autograd.grad(made, leaves, g)]
    found = with_threads(lambda: run(x, weight, bias, mean, var, grad))
    wide = [t.double() for t in (weight, bias, mean, var)]
    rows = [t.double().t().reshape(1, 50, 90) for t in (x, grad)]
    wanted = run(rows[0], *wide, rows[1])
    wanted[0], wanted[3] = wanted[0][0].t(), wanted[3][0].t()
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=3 * TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


@pytest.mark.parametrize("mode, shape", [("nearest", (2, 3, 9)), ("nearest", (2, 3, 9, 7)), ("nearest-exact", (2, 2, 5, 6, 4)),
                                         ("linear", (2, 3, 11)), ("bilinear", (2, 3, 9, 12)), ("trilinear", (1, 2, 5, 6, 4)),
                                         ("bicubic", (2, 2, 9, 8))])
def test_resizing_is_a_product_with_a_matrix(mode: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for factor in (2.0, 0.5, 1.7, 0.3):
            def run(dtype: Any = dtype, factor: float = factor) -> list[Any]:
                x = numbers(*shape).to(dtype).requires_grad_()
                made = F.interpolate(x, scale_factor=factor, mode=mode)
                weights = torch.linspace(0, 1, made.numel()).reshape(made.shape).to(dtype)
                return [made.detach(), *torch.autograd.grad(made, x, weights)]
            found = with_threads(run)
            with monkeypatch.context() as without:
                without.setattr(upsample, "native", None)
                wanted = run()
            for a, b in zip(found, wanted, strict=True):
                torch.testing.assert_close(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_at_positions_round_at_each_step(dtype: Any) -> None:
    x, source = numbers(6, 40).to(dtype), numbers(6, 500, seed=1).to(dtype)
    index = torch.from_numpy(np.random.default_rng(2).integers(0, 40, (6, 500)))
    found, = with_threads(lambda: [x.scatter_add(1, index, source)])
    rows, = with_threads(lambda: [x.t().index_add(0, index[0], source.t()).contiguous()])
    wanted, wanted_rows = x.clone(), x.t().contiguous()
    for k in range(500):
        for r in range(6):
            wanted[r, index[r, k]] += source[r, k]
        wanted_rows[index[0, k]] += source[:, k]
    assert torch.equal(found, wanted) and torch.equal(rows, wanted_rows)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_in_derivatives_are_those_of_arithmetic(dtype: Any) -> None:
    x = numbers(300).abs().to(dtype).requires_grad_()
    grad, = torch.autograd.grad(x.sqrt().sum(), x)
    assert torch.equal(grad, torch.ones_like(x) / (x.detach().sqrt() * 2))
    grad, = torch.autograd.grad(x.log1p().sum(), x)
    assert torch.equal(grad, torch.ones_like(x) / (x.detach() + 1))
