"""Quantization-aware training: observers, rounding modules, prepared models. Numbers are PyTorch's of the same seed."""
from __future__ import annotations

import copy

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.ao import quantization
from retrograd.ao.nn import intrinsic, qat
from retrograd.ao.quantization import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
    QConfig,
    get_default_qat_qconfig,
)


def numbers():
    torch.manual_seed(0)
    return torch.randn(4, 3, 5)


@pytest.mark.parametrize(("options", "scale", "zero_point"), [
    ({}, 0.0156, 136), ({"dtype": torch.qint8}, 0.0156, 8), ({"qscheme": torch.per_tensor_symmetric}, 0.0166, 128),
    ({"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}, 0.0166, 0), ({"quant_min": 0, "quant_max": 15}, 0.2645, 8)])
def test_observer_chooses_scale_and_zero_point(options, scale, zero_point):
    observer = MinMaxObserver(**options)
    assert observer(numbers()) is not None
    found, zero = observer.calculate_qparams()
    assert (found.item(), zero.item()) == (pytest.approx(scale, abs=5e-5), zero_point)


def test_reduced_range_has_half_the_levels():
    with pytest.warns(UserWarning, match="Please use quant_min and quant_max"):
        observer = MinMaxObserver(reduce_range=True)
    assert (observer.quant_min, observer.quant_max) == (0, 127)


def test_averages_follow_slowly_and_channels_apart():
    x = numbers()
    average = MovingAverageMinMaxObserver()
    average(x)
    average(2 * x)
    assert [average.min_val.item(), average.max_val.item()] == pytest.approx([-2.1364, 1.8715], abs=1e-4)
    channels = PerChannelMinMaxObserver(ch_axis=1)
    channels(x)
    assert channels.calculate_qparams()[1].tolist() == [134, 136, 129]
    follow = MovingAveragePerChannelMinMaxObserver(ch_axis=1)
    follow(x)
    follow(2 * x)
    assert follow.min_val.tolist() == pytest.approx([-1.7129, -2.1364, -1.6456], abs=1e-4)


def test_unused_observer_warns_and_answers_one():
    with pytest.warns(UserWarning, match="must run observer before calling calculate_qparams"):
        assert MinMaxObserver().calculate_qparams()[0].tolist() == [1.0]


def test_rounding_module_watches_and_rounds_or_not():
    x = numbers()
    module = FakeQuantize(quant_min=0, quant_max=255)
    assert module(x).sum().item() == pytest.approx(3.1746, abs=1e-4)
    module.apply(quantization.disable_observer)
    module(100 * x)
    assert module.scale.item() == pytest.approx(0.0156, abs=5e-5)
    module.apply(quantization.disable_fake_quant)
    assert module(x) is x


def test_scales_of_channels_are_loaded():
    maker = FakeQuantize.with_args(observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127,
                                   dtype=torch.qint8, qscheme=torch.per_channel_symmetric, ch_axis=0)
    module, other = maker(), maker()
    assert module(numbers()).sum().item() == pytest.approx(3.2031, abs=1e-4)
    other.load_state_dict(module.state_dict())
    assert other.scale.tolist() == module.scale.tolist() and len(other.scale) == 4
    assert torch.equal(copy.deepcopy(module)(numbers()), module(numbers()))


def test_fused_module_chooses_as_kernels_do():
    torch.manual_seed(0)
    w = torch.randn(3, 4)
    module = quantization.default_fused_per_channel_wt_fake_quant()
    assert module(w)[0].tolist() == pytest.approx([1.5490, -0.2894, -2.1788, 0.5617], abs=1e-4)
    assert module(1.5 * w).sum().item() == pytest.approx(-2.3408, abs=1e-4)
    with pytest.warns(UserWarning, match="Please use quant_min"):
        half = FusedMovingAvgObsFakeQuantize(reduce_range=True)
    half(w)
    assert (half.zero_point.item(), half.activation_post_process.quant_max) == (74, 127)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.conv, self.bn = quantization.QuantStub(), nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.relu, self.fc, self.dequant = nn.ReLU(), nn.Linear(4, 2), quantization.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.fc(self.relu(self.bn(self.conv(self.quant(x)))).mean((2, 3))))


@pytest.mark.filterwarnings("ignore:Please use quant_min")
def test_prepared_model_trains_as_in_pytorch():
    torch.manual_seed(0)
    model = Net().train()
    model.qconfig = get_default_qat_qconfig("fbgemm")
    made = quantization.prepare_qat(model)
    assert type(made.conv) is qat.Conv2d and type(made.fc) is qat.Linear and type(model.conv) is nn.Conv2d
    assert not hasattr(made.relu, "activation_post_process") and not hasattr(made.dequant, "activation_post_process")
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    torch.manual_seed(1)
    losses = []
    for _ in range(3):
        loss = made(torch.randn(2, 1, 6, 6)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == pytest.approx([0.1345, 0.0739, 0.0530], abs=1e-4)
    with pytest.raises(AssertionError, match="prepare_qat only works on models in training mode"):
        quantization.prepare_qat(model.eval())


def test_observed_model_keeps_ranges_of_results():
    model = Net().eval()
    with pytest.raises(AssertionError, match="None of the submodule got qconfig applied"):
        quantization.prepare(model)
    model.qconfig = QConfig(activation=MinMaxObserver, weight=MinMaxObserver)
    made = quantization.prepare(model)
    made(torch.ones(1, 1, 6, 6))
    assert made.quant.activation_post_process.max_val.item() == 1
    assert "conv.activation_post_process.min_val" in made.state_dict()


def test_modules_that_follow_each_other_become_one():
    torch.manual_seed(0)
    model = Net()
    model(torch.randn(4, 1, 6, 6))
    model.eval()
    fused = quantization.fuse_modules(model, [["conv", "bn", "relu"]])
    assert type(fused.conv) is intrinsic.ConvReLU2d and type(fused.bn) is nn.Identity
    x = torch.randn(2, 1, 6, 6)
    torch.testing.assert_close(fused(x), model(x))
    with pytest.raises(AssertionError, match="did not find fuser method"):
        quantization.fuse_modules(nn.Sequential(nn.Linear(1, 1), nn.Tanh()).eval(), ["0", "1"])
    with pytest.raises(RuntimeError, match="in evaluation only"):
        quantization.fuse_modules_qat(model.train(), ["conv", "bn"])


def test_what_does_not_fit_is_refused():
    with pytest.raises(NotImplementedError, match="MinMaxObserver's qscheme only support"):
        MinMaxObserver(qscheme=torch.per_channel_affine)
    with pytest.raises(AssertionError, match="Default Observer only works for"):
        MinMaxObserver(dtype=torch.float32)
    with pytest.raises(AssertionError, match="quant_max out of bound"):
        FakeQuantize(quant_min=0, quant_max=300)
    with pytest.raises(ValueError, match="QConfig received observer instance"):
        QConfig(activation=MinMaxObserver(), weight=None)
    with pytest.raises(RuntimeError, match="retrograd has no quantized tensors"):
        quantization.quantize_dynamic(Net())


def test_schemes_are_names():
    assert repr(torch.per_tensor_affine) == "torch.per_tensor_affine" and isinstance(torch.per_tensor_affine, torch.qscheme)
    assert copy.deepcopy(torch.per_tensor_affine) is torch.per_tensor_affine
    assert quantization.qconfig_equals(quantization.default_qconfig, QConfig(*quantization.default_qconfig))
    assert not quantization.qconfig_equals(quantization.default_qconfig, quantization.default_debug_qconfig)
    assert torch.quantization.FakeQuantize is FakeQuantize


def test_arithmetic_modules_pass_results_through_their_observer():
    module = torch.ao.nn.quantized.FloatFunctional()
    module.activation_post_process = MinMaxObserver()
    x = torch.tensor([-1.0, 2.0])
    assert module.add_relu(x, x).tolist() == [0.0, 4.0] and module.cat([x, x]).tolist() == [-1.0, 2.0, -1.0, 2.0]
    assert (module.activation_post_process.min_val.item(), module.activation_post_process.max_val.item()) == (-1.0, 4.0)
    with pytest.raises(RuntimeError, match="FloatFunctional is not intended to use the 'forward'"):
        module(x)
    assert torch.ao.nn.qat.modules.Linear is torch.ao.nn.qat.Linear and torch.ao.nn.quantized.MaxPool2d is torch.nn.MaxPool2d
