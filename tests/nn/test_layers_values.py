"""Layers and losses give PyTorch's numbers; the golden values below were recorded from it."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import nn


def values(t: Any) -> list[float]:
    return [round(v, 5) for v in t.detach().flatten().tolist()]


def test_linear_starts_with_the_same_weights_as_pytorch() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    assert values(layer.weight) == [-0.00432, 0.30972, -0.47519, -0.42489, -0.22237, 0.15482]
    assert values(layer.bias) == [-0.01144, 0.45777]


def test_convolution_gives_the_recorded_values() -> None:
    torch.manual_seed(0)
    layer = nn.Conv2d(1, 1, 2)
    assert values(layer.weight) == [-0.00374, 0.26822, -0.41152, -0.36797]
    image = torch.arange(9.0).reshape(1, 1, 3, 3)
    assert values(layer(image)) == pytest.approx([-2.6308, -3.14581, -4.17584, -4.69086], abs=2e-5)


@pytest.mark.parametrize(("layer", "expected"), [
    (nn.BatchNorm1d(3), [-1.22884, -1.065, -0.90115, -0.73731, -1.22884, -1.065]),
    (nn.LayerNorm(4), [-1.34146, -0.44715, 0.44715, 1.34146, -1.34146, -0.44715]),
    (nn.GroupNorm(1, 3), [-1.59323, -1.30355, -1.01388, -0.7242, -0.43452, -0.14484]),
    (nn.InstanceNorm1d(3), [-1.34146, -0.44715, 0.44715, 1.34146, -1.34146, -0.44715]),
    (nn.MaxPool1d(2), [-1.82609, -1.47826, -1.13043, -0.78261, -0.43478, -0.08696]),
    (nn.AvgPool1d(2), [-1.91304, -1.56522, -1.21739, -0.86957, -0.52174, -0.17391]),
    (nn.AdaptiveAvgPool1d(3), [-1.91304, -1.73913, -1.56522, -1.21739, -1.04348, -0.86957]),
    (nn.Upsample(scale_factor=2, mode="linear"), [-2.0, -1.95652, -1.86957, -1.78261, -1.69565, -1.6087]),
    (nn.GELU(), [-0.0455, -0.06194, -0.08137, -0.10299, -0.12529, -0.14599]),
    (nn.Softmax(1), [0.14235, 0.14235, 0.14235, 0.14235, 0.28541, 0.28541]),
], ids=lambda value: type(value).__name__)
def test_layer_gives_the_recorded_values(layer: Any, expected: list[float]) -> None:
    made = layer(torch.linspace(-2, 2, 24).reshape(2, 3, 4))
    assert values(made)[:6] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(("loss", "kind", "expected"), [
    (nn.CrossEntropyLoss(), "classes", 0.6973),
    (nn.CrossEntropyLoss(label_smoothing=0.1), "classes", 0.77063),
    (nn.CrossEntropyLoss(reduction="sum"), "classes", 1.3946),
    (nn.MSELoss(), "values", 1.19167),
    (nn.L1Loss(), "values", 0.85),
    (nn.SmoothL1Loss(beta=0.5), "values", 0.64833),
    (nn.HuberLoss(), "values", 0.51167),
    (nn.BCEWithLogitsLoss(), "values", 0.91498),
    (nn.KLDivLoss(reduction="batchmean"), "values", -0.80429),
    (nn.SoftMarginLoss(), "values", 0.71465),
])
def test_loss_gives_the_recorded_value(loss: Any, kind: str, expected: float) -> None:
    x = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.3, -0.2]])
    target = torch.tensor([2, 0]) if kind == "classes" else torch.tensor([[0.2, 0.8, 0.4], [0.1, 0.5, 0.9]])
    assert loss(x, target).item() == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(("make", "expected"), [
    (lambda: nn.LSTM(2, 2)(torch.ones(2, 1, 2))[0], [-0.12701, -0.00967, -0.17237, -0.02038]),
    (lambda: nn.GRU(2, 2)(torch.ones(2, 1, 2))[0], [-0.24347, -0.40133, -0.46321, -0.56794]),
    (lambda: nn.MultiheadAttention(2, 1)(*[torch.eye(2).unsqueeze(1)] * 3)[0], [0.16411, -0.12855, 0.16574, -0.13655]),
])
def test_sequence_layer_gives_the_recorded_values(make: Any, expected: list[float]) -> None:
    torch.manual_seed(0)
    assert values(make()) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("make", [
    lambda x: nn.functional.conv2d(x, torch.ones(1, 1, 2, 2, dtype=x.dtype)),
    lambda x: nn.functional.batch_norm(x, None, None, training=True),
    lambda x: nn.functional.layer_norm(x, (4,)),
    lambda x: nn.functional.max_pool2d(x, 2),
    lambda x: nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
])
def test_second_derivatives_are_right(make: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 1, 4, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: make(t).sin(), (x,))


def test_running_statistics_follow_the_batches() -> None:
    layer = nn.BatchNorm1d(1, momentum=0.5)
    layer(torch.tensor([[1.0], [3.0]]))
    assert layer.running_mean.item() == 1.0
    assert layer.running_var.item() == 1.5
    assert layer.num_batches_tracked.item() == 1


def test_convolution_refuses_wrong_channels_in_pytorchs_words() -> None:
    with pytest.raises(RuntimeError) as caught:
        nn.functional.conv2d(torch.ones(1, 3, 4, 4), torch.ones(2, 2, 3, 3))
    assert str(caught.value) == ("Given groups=1, weight of size [2, 2, 3, 3], expected input[1, 3, 4, 4] to have 2 "
                                 "channels, but "
                                 "got 3 channels instead")
