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


# in strips, in several phases, with more padding than kernel, small images together, many channels, few outputs
LARGER: list[tuple[Any, ...]] = [
    ((3, 5, 40, 37), (70, 5, 3, 3), dict(padding=1)), ((2, 3, 50, 41), (9, 3, 7, 5), dict(stride=(2, 3), padding=(3, 1))),
    ((13, 17, 5, 4), (11, 17, 3, 3), dict(padding=2, dilation=2)),
    ((2, 6, 33, 9), (12, 2, 1, 2), dict(groups=3, padding=(3, 2))),
    ((1, 2, 4000), (6, 2, 5), dict(stride=2)), ((2, 3, 9, 12, 14), (10, 3, 2, 3, 3), dict(stride=(1, 2, 1), padding=1)),
    ((2, 100, 6, 7), (5, 100, 3, 3), dict(padding=1)), ((2, 4, 30, 30), (8, 4, 9, 9), dict(stride=9)),
    ((4, 40, 3, 2), (33, 40, 3, 3), dict(padding=1, stride=2)), ((2, 30, 9), (20, 30, 3), dict(padding=2, dilation=2)),
    ((1, 24, 3, 4, 2), (30, 24, 2, 3, 2), dict(padding=1)), ((1, 20, 2, 1), (20, 20, 3, 3), dict(padding=1)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("image", "kernel", "settings"), LARGER)
def test_convolutions_of_larger_images(image: Any, kernel: Any, settings: Any, dtype: Any,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    rank = len(image) - 2
    convolve, back = getattr(F, f"conv{rank}d"), getattr(F, f"conv_transpose{rank}d")
    groups = settings.get("groups", 1)
    scaled = [lambda x, w, b, f=f: f(x, w / w[0].numel(), b, **settings) for f in (convolve, back)]
    both_ways(run(scaled[0], image, kernel, (kernel[0],), dtype=dtype), monkeypatch)
    turned = (image[1], kernel[0] // groups, *kernel[2:])
    both_ways(run(scaled[1], image, turned, (kernel[0],), dtype=dtype), monkeypatch)


@pytest.mark.parametrize(("image", "kernel", "settings"), LARGER[:6] + LARGER[-4:])
def test_convolutions_have_the_same_bits_with_any_number_of_threads(image: Any, kernel: Any, settings: Any) -> None:
    convolve = getattr(F, f"conv{len(image) - 2}d")
    before, made = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 7):
            torch.set_num_threads(threads)
            made.append(run(lambda x, w, b: convolve(x, w, b, **settings), image, kernel, (kernel[0],), dtype=torch.float32)())
    finally:
        torch.set_num_threads(before)
    for other in made[1:]:
        for a, b in zip(made[0], other, strict=True):
            close = 0 if images.native is not None else 1e-4          # the BLAS adds in another order
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=close, atol=close)


def test_what_is_no_number_spreads_through_convolutions_as_far_as_windows_go(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, value in itertools.product(range(3), (float("inf"), float("nan"))):
        def go(place: int = place, value: float = value) -> Any:
            torch.manual_seed(0)
            x, w, slope = torch.randn(2, 3, 9, 8), torch.randn(5, 3, 3, 3), torch.randn(2, 5, 5, 4)
            (x, w, slope)[place].view(-1)[-3] = value
            x.requires_grad_()
            w.requires_grad_()
            y = F.conv2d(x, w, stride=2, padding=1)
            return [(t.detach() * 0 == 0).float() for t in (y, *torch.autograd.grad(y, (x, w), slope))]
        both_ways(go, monkeypatch)


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


@pytest.mark.parametrize("module", [torch.nn.Conv3d, torch.nn.ConvTranspose3d])
def test_convolutions_of_volumes_follow_channels_last_in_single_precision(module: Any) -> None:
    volume = torch.channels_last_3d
    for dtype, expected in ((torch.float32, True), (torch.float64, False)):
        layer, x = module(2, 3, 2, dtype=dtype), torch.randn(2, 2, 3, 3, 3, dtype=dtype)
        plain = layer(x)
        made = layer(x.contiguous(memory_format=volume))
        assert plain.is_contiguous() and made.is_contiguous(memory_format=volume) == expected
        assert torch.allclose(plain, made, atol=1e-5)
        by_weight = layer.to(memory_format=volume)(x)
        assert by_weight.is_contiguous(memory_format=volume) == expected
