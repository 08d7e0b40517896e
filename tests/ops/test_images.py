"""Convolutions, pooling and columns: the compiled loops against NumPy, for all geometries."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.ops.shared import along, images


def both_ways(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results and gradients as built, and with NumPy alone."""
    made = function()
    with monkeypatch.context() as patch:
        patch.setattr(images, "native", None)
        patch.setattr(along, "native", None)
        wanted = function()
    for a, b in zip(made, wanted, strict=True):
        assert a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9 if a.dtype == torch.float64 else 2e-4, atol=1e-4)


def run(function: Any, *shapes: Any, dtype: Any = torch.float64, last: bool = False) -> Any:
    def go() -> Any:
        torch.manual_seed(0)
        inputs = [torch.randn(s, dtype=dtype) for s in shapes]
        if last:
            inputs[0] = inputs[0].to(memory_format=torch.channels_last)
        inputs = [t.requires_grad_() for t in inputs]
        results = function(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        slope = torch.randn(results[0].shape, dtype=dtype)
        return [*[r.detach() for r in results], *torch.autograd.grad(results[0], inputs, slope)]
    return go


GEOMETRIES = [dict(stride=s, padding=p, dilation=d) for s, p, d in itertools.product((1, 2), (0, 2), (1, 2))]


@pytest.mark.parametrize("settings", GEOMETRIES)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions(rank: int, groups: int, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, kernel = (7, 6, 5)[:rank], (3, 2, 2)[:rank]
    convolve, back = getattr(F, f"conv{rank}d"), getattr(F, f"conv_transpose{rank}d")
    both_ways(run(lambda x, w, b: convolve(x, w, b, groups=groups, **settings),
                  (2, 4, *sizes), (8, 4 // groups, *kernel), (8,)), monkeypatch)
    both_ways(run(lambda x, w, b: back(x, w, b, groups=groups, **settings),
                  (2, 4, *sizes), (4, 2, *kernel), (2 * groups,)), monkeypatch)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_convolutions_of_one_element_and_channels_last(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    both_ways(run(F.conv2d, (2, 3, 4, 5), (6, 3, 1, 1), dtype=dtype), monkeypatch)
    both_ways(run(lambda x, w: F.conv2d(x, w, padding=1), (2, 3, 4, 5), (6, 3, 3, 3), dtype=dtype, last=True), monkeypatch)
    both_ways(run(lambda x, w: F.conv2d(x, w, groups=3), (2, 3, 9, 20), (3, 1, 2, 11), dtype=dtype), monkeypatch)
    for size, kernel, padding, dilation in ((5, 3, 1, 1), (20, 3, 3, 2), (33, 5, 0, 1), (17, 2, 1, 3), (6, 1, 0, 1)):
        both_ways(run(lambda x, w, p=padding, d=dilation: F.conv2d(x, w, padding=p, dilation=d, groups=2),
                      (2, 2, size, size + 3), (4, 1, kernel, kernel), dtype=dtype), monkeypatch)
        both_ways(run(lambda x, w, p=padding, d=dilation: F.conv_transpose2d(x, w, padding=p, dilation=d, groups=2),
                      (2, 2, size, size + 3), (2, 1, kernel, kernel), dtype=dtype), monkeypatch)
    for count in (1, 3, 40):
        both_ways(run(lambda x, w: F.conv2d(x, w, padding=1), (count, 3, 4, 4), (5, 3, 3, 3), dtype=dtype), monkeypatch)
        both_ways(run(lambda x, w: F.conv2d(x, w), (count, 4, 3, 5), (6, 4, 1, 1), dtype=dtype), monkeypatch)
    both_ways(run(lambda x, w: F.conv1d(x, w), (1, 1, 90), (2, 1, 70), dtype=dtype), monkeypatch)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("settings", [dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1),
                                      dict(kernel_size=3, stride=1, padding=1), dict(kernel_size=3, stride=2, ceil_mode=True)])
def test_pooling(dtype: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank, sizes in ((1, (9,)), (2, (7, 8)), (3, (4, 5, 6))):
        shape = (2, 3, *sizes)
        most, mean = getattr(F, f"max_pool{rank}d"), getattr(F, f"avg_pool{rank}d")
        both_ways(run(lambda x, most=most: most(x, return_indices=True, **settings), shape, dtype=dtype), monkeypatch)
        both_ways(run(lambda x, mean=mean: mean(x, **settings), shape, dtype=dtype), monkeypatch)
        both_ways(run(lambda x, mean=mean: mean(x, count_include_pad=False, **settings), shape, dtype=dtype), monkeypatch)
        adaptive = getattr(F, f"adaptive_max_pool{rank}d")
        both_ways(run(lambda x, pool=adaptive: pool(x, 3, return_indices=True), shape, dtype=dtype), monkeypatch)
    both_ways(run(lambda x: F.max_pool2d(x, 3, dilation=2, padding=1, return_indices=True), (2, 3, 7, 8), dtype=dtype),
              monkeypatch)
    both_ways(run(lambda x: F.max_pool2d(x, 2, return_indices=True), (2, 3, 6, 8), dtype=dtype, last=True), monkeypatch)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_columns_and_images(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for settings in GEOMETRIES:
        both_ways(run(lambda x, s=settings: F.unfold(x, (3, 2), **s), (2, 3, 7, 6), dtype=dtype), monkeypatch)
    both_ways(run(lambda x: F.fold(x, (4, 5), (2, 2), padding=1), (2, 12, 30), dtype=dtype), monkeypatch)


def test_the_last_of_several_nans_is_the_maximum() -> None:
    x = torch.tensor([[[1.0, float("nan"), float("nan"), 3.0]]])
    assert F.max_pool1d(x, 4, return_indices=True)[1].tolist() == [[[2]]]
    assert F.adaptive_max_pool1d(x, 1, return_indices=True)[1].tolist() == [[[2]]]
    low = torch.full((1, 4, 4), -float("inf"))
    assert F.max_pool2d(low, 2, padding=1, return_indices=True)[1].tolist() == [[[0, 1, 3], [4, 5, 7], [12, 13, 15]]]
