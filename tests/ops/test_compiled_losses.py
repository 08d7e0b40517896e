"""Losses by margins and distances of rows in C give what NumPy gives, with their gradients and refusals."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.linalg import distance
from retrograd.ops.loss import kernels, margin

F: Any = torch.nn.functional
DTYPES = [torch.float32, torch.float64]


def values(dtype: Any, *shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def results(function: Any, x: Any) -> Any:
    leaf = x.clone().requires_grad_()
    try:
        made = function(leaf)
        grad, = torch.autograd.grad(made, leaf, torch.arange(1, 1 + made.numel(), dtype=x.dtype).reshape(made.shape))
    except (RuntimeError, IndexError, ValueError) as error:
        return str(error)
    return made.detach(), grad


def both(monkeypatch: pytest.MonkeyPatch, module: Any, function: Any, x: Any) -> None:
    made = results(function, x)
    with monkeypatch.context() as patch:
        patch.setattr(module, "native", None)
        wanted = results(function, x)
    if isinstance(wanted, str):
        assert made == wanted
        return
    for a, b in zip(made, wanted, strict=True):
        assert a.dtype == b.dtype and a.stride() == b.stride()
        torch.testing.assert_close(a, b, rtol=1e-5 if a.dtype is torch.float32 else 1e-12, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_margins(monkeypatch: pytest.MonkeyPatch, dtype: Any, reduction: str) -> None:
    weight = torch.tensor([0.5, 1.5, 2.0], dtype=dtype)
    for x, target in ((values(dtype, 4, 3), torch.tensor([1, 0, 2, 1])), (values(dtype, 3), torch.tensor(2)),
                      (values(dtype, 4, 3), torch.tensor([1, 0, 3, 1]))):
        for p in (1, 2):
            for w in (None, weight):
                both(monkeypatch, margin, lambda x: F.multi_margin_loss(
                    x, target, p=p, margin=0.7, weight=w, reduction=reduction), x)                              # noqa: B023
    for x, target in ((values(dtype, 3, 4), torch.tensor([[1, 0, -1, 2], [3, -1, 0, 0], [-1, 1, 2, 3]])),
                      (values(dtype, 4), torch.tensor([0, 1, 2, 3])), (values(dtype, 4), torch.tensor([0, 4, 2, 3]))):
        both(monkeypatch, margin, lambda x: F.multilabel_margin_loss(x, target, reduction=reduction), x)        # noqa: B023


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_distances(monkeypatch: pytest.MonkeyPatch, dtype: Any, p: float) -> None:
    x, y = values(dtype, 5, 3), values(dtype, 4, 3, seed=1)
    x[1] = x[0]                                     # a distance of 0
    y[2] = x[3]
    for points in (x, x[:1], x[:, :1]):
        both(monkeypatch, distance, lambda x: torch.pdist(x, p), points)
    for other in (y, y.expand(2, 4, 3).clone()):
        both(monkeypatch, distance, lambda x: torch.cdist(x.expand(*other.shape[:-2], 5, 3), other, p), x)      # noqa: B023
        both(monkeypatch, distance, lambda y: torch.cdist(x, y, p), other)
    both(monkeypatch, distance, lambda x: torch.cdist(x.mT, x.mT, p), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_weighted_likelihoods(dtype: Any, reduction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.tensor([0.5, 0.0, 2.0], dtype=dtype)
    pair = values(dtype, 2, 3)
    for x, target in ((values(dtype, 4, 3), [2, 1, 0, 2]), (values(dtype, 3), 2), (pair, [1, 1]), (pair, [0, 3]),
                      (values(dtype, 2, 3, 2, 2), [[[0, 1], [2, 2]]] * 2), (pair.t().contiguous().t(), [0, 2])):
        wanted = torch.tensor(target)
        for ignored in (-100, 2):
            both(monkeypatch, kernels, lambda x, t=wanted, i=ignored: F.nll_loss(
                x, t, weight, ignore_index=i, reduction=reduction), x)
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'weight'"):
        F.nll_loss(pair, torch.tensor([0, 1]), weight.clone().requires_grad_())
