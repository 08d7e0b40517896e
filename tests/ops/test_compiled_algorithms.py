"""Sequences, polynomials, series and alignments in C give what the same ops compute with NumPy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.opdef import find_packet
from retrograd.ops.create import implicit_gradients, ranges
from retrograd.ops.elementwise import special
from retrograd.ops.loss import ctc
from retrograd.ops.nn import grid
from retrograd.ops.signal import windows

F = torch.nn.functional


def values(low: float, high: float, *shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).uniform(low, high, shape))


def both(monkeypatch: pytest.MonkeyPatch, module: Any, compute: Callable[[], Any]) -> tuple[Any, Any]:
    """The result as it is, and the reference's."""
    made = compute()
    with monkeypatch.context() as patch:
        patch.setattr(module, "native", None)
        return made, compute()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bounds", [(0.0, 1.0, 0.01), (5.0, -3.0, -0.07), (0.1, 700.3, 0.3), (-2.0, 900.0, 1.0),
                                    (0.0, 0.5, 1.0)])
def test_sequences_have_the_bits_of_the_reference(monkeypatch: pytest.MonkeyPatch, dtype: Any, bounds: Any) -> None:
    made, wanted = both(monkeypatch, ranges, lambda: torch.arange(*bounds, dtype=dtype))
    assert torch.equal(made, wanted)
    for steps in (1, 2, 3, 50, 1001):
        made, wanted = both(monkeypatch, ranges, lambda: torch.linspace(*bounds[:2], steps, dtype=dtype))  # noqa: B023
        assert torch.equal(made, wanted)


@pytest.mark.parametrize("beta", [0.0, 0.5, 12.0, 30.0])
def test_kaiser_windows(monkeypatch: pytest.MonkeyPatch, beta: float) -> None:
    made, wanted = both(monkeypatch, windows, lambda: torch.kaiser_window(33, True, beta, dtype=torch.float64))
    torch.testing.assert_close(made, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", [prefix + name for name in special.POLYNOMIALS
                                  for prefix in (("", "shifted_") if name.startswith("chebyshev") else ("",))])
def test_polynomials(name: str) -> None:
    function, op = getattr(torch.special, name), find_packet(f"special_{name}").default
    degrees = torch.tensor([-2.0, -0.5, 0.0, 0.9, 1.0, 2.0, 3.7, 9.0], dtype=torch.float64)
    for dtype in (torch.float32, torch.float64):
        x = torch.cat([values(-1.5, 1.5, 6), torch.tensor([-1.0, 0.0, 1.0, float("nan")], dtype=torch.float64)]).to(dtype)
        for a, n in ((x[:, None], degrees.to(dtype)), (x[:8], degrees.to(dtype)), (x, torch.tensor(3)),
                     (x.expand(8, 10).T.contiguous(), degrees.long()), (torch.arange(-1, 7), degrees.to(dtype)),
                     (torch.tensor(0.5, dtype=dtype), x[:3]), (x[:0, None], degrees.to(dtype))):
            made, wanted = function(a, n), op.compute(np, *[t.to(dtype).numpy() for t in (a, n)])
            assert made.dtype is dtype and made.is_contiguous()
            torch.testing.assert_close(made, torch.from_numpy(np.asarray(wanted)), equal_nan=True,
                                       rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=1e-5)
        for degree in (0, 2, 9, 3.5):
            torch.testing.assert_close(function(x, degree), function(x, torch.full_like(x, degree)), equal_nan=True)
            torch.testing.assert_close(function(0.25, x), function(torch.full_like(x, 0.25), x), equal_nan=True)


def test_slopes_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    alpha = values(0.1, 20.0, 40)
    x = alpha * values(0.2, 2.0, 40, seed=1)
    made, wanted = both(monkeypatch, implicit_gradients, lambda: torch._standard_gamma_grad(alpha, x))
    torch.testing.assert_close(made, wanted, rtol=1e-12, atol=1e-14)
    share, total = values(0.01, 0.99, 40, seed=2), alpha + values(0.1, 20.0, 40, seed=3)
    made, wanted = both(monkeypatch, implicit_gradients, lambda: torch._dirichlet_grad(share, alpha, total))
    torch.testing.assert_close(made, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_alignments(monkeypatch: pytest.MonkeyPatch, dtype: Any, zero_infinity: bool) -> None:
    scores = values(-2.0, 2.0, 12, 4, 5).to(dtype)
    targets = torch.tensor([[1, 2, 2, 3], [4, 4, 1, 1], [2, 1, 3, 1], [1, 1, 1, 1]])
    lengths, counts = [12, 9, 2, 5], [4, 3, 4, 0]          # the third cannot be aligned

    def compute() -> list[Any]:
        x = scores.clone().requires_grad_()
        frames = F.log_softmax(x, 2)
        loss = F.ctc_loss(frames, targets, lengths, counts, reduction="none", zero_infinity=zero_infinity)
        flat = torch.cat([row[:n] for row, n in zip(targets, counts, strict=True)])
        other = F.ctc_loss(frames, flat, lengths, counts, reduction="none", zero_infinity=zero_infinity)
        finite = torch.where(loss.isinf(), 0.0, loss)
        return [loss, other, *torch.autograd.grad(finite.sum(), x)]
    for made, wanted in zip(*both(monkeypatch, ctc, compute), strict=True):
        torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic", "volume"])
def test_samples_of_images(monkeypatch: pytest.MonkeyPatch, mode: str, padding: str, align_corners: bool) -> None:
    sizes = (4, 5, 3) if mode == "volume" else (5, 4)
    images, places = values(-1.0, 1.0, 2, 3, *sizes), values(-2.2, 2.2, 2, *[2] * (len(sizes) - 1), 7, len(sizes), seed=1)

    def compute() -> list[Any]:
        leaves = [images.clone().requires_grad_(), places.clone().requires_grad_()]
        made = F.grid_sample(*leaves, "bilinear" if mode == "volume" else mode, padding, align_corners)
        return [made, *torch.autograd.grad(made.sin().sum(), leaves)]
    for made, wanted in zip(*both(monkeypatch, grid, compute), strict=True):
        torch.testing.assert_close(made, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_samples_far_outside_and_nan_are_those_of_numpy(mode: str, padding: str, dtype: Any,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    images = torch.from_numpy(random.standard_normal((2, 3, 5, 9))).to(dtype)
    places = torch.from_numpy(random.integers(-40, 40, (2, 7, 21, 2)) / 16 + 1 / 64).to(dtype)      # away from edges
    if mode != "nearest":
        places[0, 0, 0] = float("nan")

    def compute() -> list[Any]:
        leaves = [images.clone().requires_grad_(), places.clone().requires_grad_()]
        made = F.grid_sample(*leaves, mode, padding, True)
        return [made, *torch.autograd.grad(made.sum(), leaves)]
    small = {torch.float32: 2e-5, torch.float64: 1e-11, torch.bfloat16: 0.05}[dtype]
    for made, wanted in zip(*both(monkeypatch, grid, compute), strict=True):
        assert made.dtype == wanted.dtype == dtype
        torch.testing.assert_close(made, wanted, rtol=small, atol=small * 4, equal_nan=True)
