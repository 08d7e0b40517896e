"""Parametrizations, the two forms of weight and spectral norm, and fusion; golden values are recorded from PyTorch."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn.utils import parametrizations, parametrize


def linear(out: int, into: int, seed: int = 1) -> Any:
    torch.manual_seed(seed)
    return nn.Linear(into, out)


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).T

    def right_inverse(self, x: Any) -> Any:
        return x.triu()


class Halves(nn.Module):
    def forward(self, a: Any, b: Any) -> Any:
        return a + b

    def right_inverse(self, x: Any) -> Any:
        return x / 2, x / 2


class Returns(nn.Module):
    """Forward and right inverse as given."""

    def __init__(self, forward: Any, inverse: Any = None) -> None:
        super().__init__()
        self.made = forward
        if inverse is not None:
            self.right_inverse = inverse

    def forward(self, x: Any) -> Any:
        return self.made(x)


def test_parameter_is_computed_on_every_read_and_cached_on_request() -> None:
    layer = parametrize.register_parametrization(linear(3, 3), "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear" and parametrize.type_before_parametrizations(layer) is nn.Linear
    assert torch.equal(layer.weight, layer.weight.T) and layer.weight is not layer.weight
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert sorted(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    layer.weight.sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[1.0, 2.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]
    copied = copy.deepcopy(layer)
    assert torch.equal(copied.weight, layer.weight) and copied.parametrizations.weight is not layer.parametrizations.weight
    with pytest.raises(RuntimeError, match="Serialization of parametrized modules is only supported through state_dict"):
        pickle.dumps(layer)


def test_assigning_runs_the_right_inverses() -> None:
    layer = parametrize.register_parametrization(linear(2, 2), "weight", Symmetric())
    layer.weight = torch.tensor([[1.0, 2.0], [2.0, 3.0]])
    assert layer.parametrizations.weight.original.tolist() == [[1.0, 2.0], [0.0, 3.0]]
    parametrize.register_parametrization(layer, "bias", Halves())
    layer.bias = torch.ones(2)
    assert layer.parametrizations.bias.original1.tolist() == [0.5, 0.5] and layer.bias.tolist() == [1.0, 1.0]


def test_removed_parametrization_leaves_an_ordinary_module() -> None:
    layer = linear(2, 2)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "bias", Halves())
    value = layer.weight.detach()
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(layer, "bias", leave_parametrized=False)
    for name in ("bias", "weight"):
        parametrize.remove_parametrizations(layer, name)
    assert type(layer) is nn.Linear and layer.weight is weight and torch.equal(layer.weight, value)
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


@pytest.mark.parametrize(("made", "text"), [
    (Returns(lambda x: x[0]), "may not change the shape of the tensor"),
    (Returns(lambda x: x.half()), "may not change the dtype of the tensor"),
    (Returns(lambda x: 3), "A parametrization must return a tensor. Got int."),
    (Returns(lambda x: x, lambda x: 5), "Got.? int"),
    (Returns(lambda x: x, lambda x: x.half()), "dtype"),
])
def test_parametrizations_that_change_the_tensor_are_refused(made: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parametrize.register_parametrization(linear(2, 2), "weight", made)
    layer = parametrize.register_parametrization(linear(2, 2), "weight", Symmetric())
    with pytest.raises(ValueError, match=text):
        parametrize.register_parametrization(layer, "weight", made)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'other'"):
        parametrize.register_parametrization(layer, "other", made)


def test_parametrizations_can_be_transferred() -> None:
    layer = parametrize.register_parametrization(linear(2, 2), "bias", Halves(), unsafe=True)
    other = parametrize.transfer_parametrizations_and_params(layer, linear(2, 2, 3))
    assert other.parametrizations.bias.original0 is layer.parametrizations.bias.original0
    assert torch.equal(layer.bias, other.bias)


@pytest.mark.parametrize("trivialized", [True, False])
@pytest.mark.parametrize("by", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (4, 2)])
def test_orthogonal_weights_are_orthogonal_and_can_be_assigned(shape: tuple[int, int], by: Any, trivialized: bool) -> None:
    layer = parametrizations.orthogonal(linear(*shape), orthogonal_map=by, use_trivialization=trivialized)
    long = layer.weight if shape[0] >= shape[1] else layer.weight.T
    assert torch.allclose(long.T @ long, torch.eye(min(shape)), atol=1e-5)
    (layer.weight ** 3).sum().backward()
    assert layer.parametrizations.weight.original.grad.abs().sum() > 0
    target = torch.linalg.qr(torch.randn(max(shape), min(shape)))[0]
    target = target if shape[0] >= shape[1] else target.T
    if trivialized or layer.parametrizations.weight[0].orthogonal_map.name == "householder":
        layer.weight = target
        assert torch.allclose(layer.weight, target, atol=1e-5)
    else:
        with pytest.raises(NotImplementedError, match="It is not possible to assign"):
            layer.weight = target


def test_orthogonal_value_is_pytorchs() -> None:
    layer = parametrizations.orthogonal(linear(4, 2), orthogonal_map="householder", use_trivialization=False)
    assert layer.weight.detach().flatten().tolist() == pytest.approx(
        [0.46428, -0.05737, -0.17468, 0.63864, -0.84828, -0.31574, -0.18537, 0.69939], abs=1e-4)


def test_weight_norm_keeps_length_and_direction_apart() -> None:
    layer = parametrizations.weight_norm(linear(2, 3))
    assert torch.allclose(layer.weight, linear(2, 3).weight) and layer.parametrizations.weight.original0.shape == (2, 1)
    assert layer.load_state_dict({"weight_g": torch.ones(2, 1), "weight_v": torch.ones(2, 3), "bias": torch.zeros(2)})
    assert torch.allclose(layer.weight, torch.full((2, 3), 3 ** -0.5))
    shapes = [tuple(parametrizations.weight_norm(linear(2, 3), dim=d).parametrizations.weight.original0.shape)
              for d in (None, 0, 1)]
    assert shapes == [(), (2, 1), (1, 3)]
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        old = nn.utils.weight_norm(linear(2, 3))
    old(torch.ones(1, 3)).sum().backward()
    assert [name for name, _ in old.named_parameters()] == ["bias", "weight_g", "weight_v"]
    assert old.weight_g.grad.shape == (2, 1)
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"):
        nn.utils.weight_norm(old)
    assert torch.allclose(nn.utils.remove_weight_norm(old).weight, linear(2, 3).weight)


def test_spectral_norm_has_a_largest_singular_value_of_one() -> None:
    for make in (parametrizations.spectral_norm, nn.utils.spectral_norm):
        layer = make(linear(3, 4), n_power_iterations=20)
        layer(torch.ones(4)).sum().backward()
        assert torch.linalg.matrix_norm(layer.weight, 2).item() == pytest.approx(1.0, abs=1e-4)
        layer.eval()
        assert torch.equal(layer(torch.ones(4)), layer(torch.ones(4)))
    assert layer.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    other = nn.utils.spectral_norm(linear(3, 4, 2)).eval()
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(torch.ones(4)), layer(torch.ones(4)))
    assert not nn.utils.remove_spectral_norm(layer)._state_dict_hooks
    with pytest.raises(ValueError, match="Expected n_power_iterations to be positive"):
        nn.utils.spectral_norm(linear(2, 2), n_power_iterations=0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        parametrizations.spectral_norm(linear(2, 2), dim=5)


def test_fused_layers_do_what_the_pair_does() -> None:
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(3).eval()
    norm.running_mean.fill_(0.5)
    norm.running_var.fill_(2.0)
    x = torch.randn(1, 2, 4, 4)
    for conv, transpose in ((nn.Conv2d(2, 3, 2), False), (nn.ConvTranspose2d(2, 3, 2), True)):
        fused = nn.utils.fuse_conv_bn_eval(conv.eval(), norm, transpose)
        assert torch.allclose(fused(x), norm(conv(x)), atol=1e-6)
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_conv_bn_eval(conv.train(), norm)
    with pytest.raises(AssertionError, match=r"To fuse, linear.out_features == bn.num_features or bn.num_features == 1"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(1, 2).eval(), nn.BatchNorm1d(3).eval())


def test_skipped_initialization_draws_nothing() -> None:
    state = torch.get_rng_state()
    assert nn.utils.skip_init(nn.Linear, 2, 3, device="cpu").weight.shape == (3, 2)
    assert torch.equal(state, torch.get_rng_state())
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg to skip initialization"):
        nn.utils.skip_init(nn.ReLU)
