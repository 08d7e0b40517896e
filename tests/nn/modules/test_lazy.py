"""Lazy modules learn their shapes from the first input, or from a state_dict."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn.modules.lazy import LazyModuleMixin

STATISTICS = {"running_mean": (3,), "running_var": (3,)}
CASES: list[Any] = [
    (lambda: nn.LazyLinear(3), (2, 4), nn.Linear, {"weight": (3, 4), "bias": (3,)}),
    (lambda: nn.LazyConv1d(4, 2), (3, 5), nn.Conv1d, {"weight": (4, 3, 2), "bias": (4,)}),
    (lambda: nn.LazyConv2d(4, 2, bias=False), (1, 3, 5, 5), nn.Conv2d, {"weight": (4, 3, 2, 2)}),
    (lambda: nn.LazyConv3d(2, 1), (1, 3, 2, 2, 2), nn.Conv3d, {"weight": (2, 3, 1, 1, 1), "bias": (2,)}),
    (lambda: nn.LazyConvTranspose1d(4, 2), (1, 3, 5), nn.ConvTranspose1d, {"weight": (3, 4, 2), "bias": (4,)}),
    (lambda: nn.LazyConvTranspose2d(4, 2, groups=2), (1, 2, 3, 3), nn.ConvTranspose2d, {"weight": (2, 2, 2, 2), "bias": (4,)}),
    (lambda: nn.LazyConvTranspose3d(1, 1), (1, 2, 2, 2, 2), nn.ConvTranspose3d, {"weight": (2, 1, 1, 1, 1), "bias": (1,)}),
    (lambda: nn.LazyBatchNorm1d(affine=False), (2, 3), nn.BatchNorm1d, STATISTICS),
    (lambda: nn.LazyBatchNorm2d(track_running_stats=False), (2, 3, 2, 2), nn.BatchNorm2d, {"weight": (3,), "bias": (3,)}),
    (lambda: nn.LazyBatchNorm3d(affine=False), (2, 3, 1, 2, 2), nn.BatchNorm3d, STATISTICS),
    (lambda: nn.LazyInstanceNorm1d(track_running_stats=False), (2, 3, 4), nn.InstanceNorm1d, {"weight": (3,), "bias": (3,)}),
    (lambda: nn.LazyInstanceNorm2d(track_running_stats=False), (2, 3, 4, 4), nn.InstanceNorm2d, {"weight": (3,), "bias": (3,)}),
    (lambda: nn.LazyInstanceNorm3d(affine=False), (2, 3, 1, 2, 2), nn.InstanceNorm3d, STATISTICS),
]


@pytest.mark.parametrize(("make", "shape", "becomes", "shapes"), CASES)
def test_first_input_gives_the_shapes(make: Any, shape: Any, becomes: Any, shapes: dict[str, Any]) -> None:
    module = make()
    assert module.has_uninitialized_params() and isinstance(module, becomes if "Norm" not in becomes.__name__ else nn.Module)
    module(torch.rand(shape))
    assert type(module) is becomes and not module._forward_pre_hooks and not module._load_state_dict_pre_hooks
    found = {name: tuple(t.shape) for name, t in module.state_dict().items() if name != "num_batches_tracked"}
    assert found == shapes and all([type(p) is nn.Parameter for p in module.parameters()])


@pytest.mark.parametrize(("make", "shape", "becomes", "shapes"), CASES)
def test_state_dict_gives_the_shapes(make: Any, shape: Any, becomes: Any, shapes: dict[str, Any]) -> None:
    full, empty = make(), make()
    full(torch.rand(shape))
    assert empty.load_state_dict(full.state_dict()).missing_keys == [] and not empty.has_uninitialized_params()
    x = torch.rand(shape)
    assert torch.equal(empty.eval()(x), full.eval()(x)) and type(empty) is becomes


def test_uninitialized_tensors_have_a_dtype_and_nothing_else() -> None:
    layer = nn.LazyLinear(2)
    assert repr(layer) == "LazyLinear(in_features=0, out_features=2, bias=True)"
    assert repr(layer.state_dict()["weight"]) == "<UninitializedParameter>"
    assert layer.double().weight.dtype is torch.float64 and layer.weight.is_floating_point()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = layer.weight.shape
    for use in (lambda: layer.weight + 1, lambda: torch.zeros_like(layer.weight)):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use()
    for same in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert same.has_uninitialized_params() and same.float()(torch.ones(1, 3)).shape == (1, 2)
    assert copy.deepcopy(layer).weight.dtype is torch.float64
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        nn.Linear(3, 2).load_state_dict(layer.state_dict())
    assert str(nn.LazyLinear(2).load_state_dict(layer.state_dict())) == "<All keys matched successfully>"


def test_wrong_first_inputs_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d"):
        nn.LazyConv2d(4, 2)(torch.ones(3))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(4, 2, groups=2)(torch.ones(3, 4, 4))


def test_module_of_ones_own_can_be_lazy() -> None:
    class Scale(LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.UninitializedParameter()

        def forward(self, x: Any) -> Any:
            return x * self.scale

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Scale"):
        Scale()(torch.ones(2))
    Scale.initialize_parameters = lambda self, x: None  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="module Scale has not been fully initialized"):
        Scale()(torch.ones(2))
    Scale.initialize_parameters = lambda self, x: self.scale.materialize(x.shape)  # type: ignore[method-assign]
    assert Scale()(torch.ones(2)).shape == (2,)


def test_batch_norms_are_converted_to_synchronized_ones() -> None:
    model = nn.Sequential(nn.BatchNorm1d(2), nn.ReLU()).eval()
    made = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert isinstance(made[0], nn.SyncBatchNorm) and not made[0].training
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.equal(nn.SyncBatchNorm(2)(x), nn.BatchNorm1d(2)(x))
    with pytest.raises(ValueError, match="expected at least 2D input"):
        nn.SyncBatchNorm(2)(torch.ones(2))
