"""Layers that few programs use, against values recorded from PyTorch."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn import functional as F


def test_adaptive_softmax_gives_the_recorded_values() -> None:
    torch.manual_seed(0)
    layer = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], div_value=2.0)
    x, target = torch.randn(3, 16), torch.tensor([0, 5, 19])
    output, loss = layer(x, target)
    assert output.tolist() == pytest.approx([-2.1017, -3.732, -4.3711], abs=1e-4) and torch.allclose(loss, -output.mean())
    assert layer.predict(x).tolist() == layer.log_prob(x).argmax(1).tolist() == [3, 0, 2]
    assert torch.allclose(layer.log_prob(x).gather(1, target[:, None])[:, 0], output)
    assert torch.allclose(layer(x[0], target[0]).output, output[0])
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\], but values in range \[10, 29\] were found"):
        layer(x, target + 10)
    with pytest.raises(RuntimeError, match="multi-target not supported"):
        layer(x, target[:, None])
    with pytest.raises(ValueError, match="cutoffs should be a sequence of unique, positive integers"):
        nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 4])


def test_fractional_pooling_gives_the_recorded_values() -> None:
    x = torch.arange(1.0, 50).reshape(1, 1, 7, 7)
    pool = nn.FractionalMaxPool2d(2, output_size=(3, 4), _random_samples=torch.tensor([[[0.3, 0.7]]]))
    assert pool(x).flatten().tolist() == [9.0, 11.0, 12.0, 14.0, 30.0, 32.0, 33.0, 35.0, 44.0, 46.0, 47.0, 49.0]
    x = torch.arange(125.0).reshape(1, 1, 5, 5, 5)
    _, where = F.fractional_max_pool3d_with_indices(x, 2, (2, 3, 2), _random_samples=torch.tensor([[[0.2, 0.5, 0.8]]]))
    assert where.flatten().tolist() == [31, 34, 41, 44, 46, 49, 106, 109, 116, 119, 121, 124]
    assert nn.FractionalMaxPool3d(2, output_ratio=0.4, return_indices=True)(x)[0].shape == (1, 1, 2, 2, 2)
    for make, text in ((lambda: nn.FractionalMaxPool2d(2), "requires specifying either an output size"),
                       (lambda: nn.FractionalMaxPool2d(2, 3, 0.5), "only one of output_size and output_ratio"),
                       (lambda: nn.FractionalMaxPool2d(2, output_ratio=2.0), "output_ratio must be between 0 and 1")):
        with pytest.raises(ValueError, match=text):
            make()


@pytest.mark.parametrize(("size", "expected"), [(1, [0.503, 0.6473, 0.6971, 0.6858, 0.656, 0.6228]),
                                                (4, [0.4849, 0.7422, 0.8079, 0.8125, 0.7878, 1.0874])])
def test_cross_map_norm_gives_the_recorded_values(size: int, expected: list[float]) -> None:
    x = torch.arange(1.0, 7).reshape(1, 6, 1, 1)
    assert nn.CrossMapLRN2d(size, alpha=0.5, beta=0.75, k=2.0)(x).flatten().tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution_gradients_are_those_of_backward(rank: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 4, *[5] * rank, requires_grad=True)
    weight = torch.randn(6, 2, *[3] * rank, requires_grad=True)
    made = getattr(F, f"conv{rank}d")(x, weight, stride=2, padding=1, groups=2)
    grad = torch.randn_like(made)
    made.backward(grad)
    settings = {"stride": 2, "padding": 1, "groups": 2}
    assert torch.allclose(getattr(nn.grad, f"conv{rank}d_input")(x.shape, weight, grad, **settings), x.grad, atol=1e-5)
    assert torch.allclose(getattr(nn.grad, f"conv{rank}d_weight")(x, weight.shape, grad, **settings), weight.grad, atol=1e-4)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("options", [None, nn.LinearCrossEntropyOptions(batch_chunk_size=2), nn.LinearCrossEntropyOptions()])
def test_linear_cross_entropy_is_the_cross_entropy_of_a_linear_map(reduction: str, options: Any) -> None:
    torch.manual_seed(0)
    x, w = torch.randn(5, 4, requires_grad=True), torch.randn(7, 4, requires_grad=True)
    b, weight, target = torch.randn(7), torch.arange(1.0, 8), torch.tensor([0, 1, 6, -100, 3])
    loss = F.linear_cross_entropy(x, w, target, linear_bias=b, weight=weight, reduction=reduction, options=options)
    expected = F.cross_entropy(F.linear(x, w, b), target, weight=weight, reduction=reduction)
    assert torch.allclose(loss, expected)
    for mine, theirs in zip(torch.autograd.grad(loss.sum(), (x, w)), torch.autograd.grad(expected.sum(), (x, w)), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)


def test_linear_cross_entropy_checks_its_arguments() -> None:
    with pytest.raises(RuntimeError, match=r"expected linear_bias shape \(7,\), got \(2,\)"):
        F.linear_cross_entropy(torch.ones(5, 4), torch.ones(7, 4), torch.zeros(5).long(), linear_bias=torch.ones(2))
    with pytest.raises(RuntimeError, match="ignore_index cannot be specified when target contains probabilities"):
        F.linear_cross_entropy(torch.ones(5, 4), torch.ones(7, 4), torch.ones(5, 7), ignore_index=3)
    with pytest.raises(ValueError, match="invalid acc_policy: 'x'"):
        nn.LinearCrossEntropyOptions(acc_policy="x")
    with pytest.warns(UserWarning, match="``options`` ignored"):
        nn.LinearCrossEntropyLoss(4, 3, label_smoothing=0.1, options=nn.LinearCrossEntropyOptions())(
            torch.ones(2, 4), torch.tensor([0, 1]))
    loss = nn.LinearCrossEntropyLoss(4, 3, out_features=(2,), bias=True)
    assert loss(torch.ones(5, 4), torch.zeros(5, 2).long()).dim() == 0
    assert list(loss.state_dict()) == ["linear.weight", "linear.bias"]
