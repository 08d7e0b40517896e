"""Modules lie where PyTorch has them, and in torch's place they carry PyTorch's names."""
from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from retrograd import nn
from retrograd.nn.modules.utils import (
    _list_with_default,
    _ntuple,
    _pair,
    _reverse_repeat_tuple,
    consume_prefix_in_state_dict_if_present,
)

HOMES = {
    "activation": "ReLU Softmax MultiheadAttention", "batchnorm": "BatchNorm1d _BatchNorm _NormBase", "conv": "Conv2d _ConvNd",
    "container": "Sequential ModuleList ParameterDict", "dropout": "Dropout _DropoutNd", "flatten": "Flatten Unflatten",
    "instancenorm": "InstanceNorm3d _InstanceNorm", "linear": "Linear Identity", "loss": "CrossEntropyLoss _Loss _WeightedLoss",
    "module": "Module", "normalization": "LayerNorm GroupNorm", "padding": "ZeroPad2d", "pixelshuffle": "PixelShuffle",
    "pooling": "MaxPool2d _MaxPoolNd _AvgPoolNd _AdaptiveAvgPoolNd",
    "rnn": "LSTM RNNBase", "sparse": "Embedding", "transformer": "Transformer",
    "upsampling": "Upsample", "channelshuffle": "ChannelShuffle", "distance": "CosineSimilarity", "fold": "Fold",
}


@pytest.mark.parametrize("home", HOMES)
def test_classes_are_at_home_where_pytorch_has_them(home: str) -> None:
    module = getattr(nn.modules, home)
    for name in HOMES[home].split():
        found = getattr(module, name)
        assert found.__module__ == f"retrograd.nn.modules.{home}"
        assert getattr(nn, name, found) is found and pickle.loads(pickle.dumps(found)) is found


def test_layers_are_instances_of_what_they_are_in_pytorch() -> None:
    wanted = {
        "LazyLinear": "Linear", "NLLLoss2d": "NLLLoss", "ReLU6": "Hardtanh", "UpsamplingBilinear2d": "Upsample",
        "UpsamplingNearest2d": "Upsample", "UninitializedParameter": "Parameter",
        **{f"{name}{cell}": "RNNCellBase" if cell else "RNNBase"
           for name in ("RNN", "LSTM", "GRU") for cell in ("", "Cell")},
        **{f"ZeroPad{rank}d": f"ConstantPad{rank}d" for rank in (1, 2, 3)},
        **{f"LazyConv{kind}{rank}d": f"Conv{kind}{rank}d" for kind in ("", "Transpose") for rank in (1, 2, 3)}}
    classes = {name: found for name, found in vars(nn).items() if isinstance(found, type) and name[0] != "_"}
    made = {(a, b) for a, first in classes.items() for b, second in classes.items()
            if first is not second and b != "Module" and issubclass(first, second)}
    assert made == set(wanted.items())


def test_functions_are_published_by_functional() -> None:
    assert pickle.loads(pickle.dumps(nn.functional.relu)) is nn.functional.relu
    assert b"retrograd.nn.functional" in pickle.dumps(nn.functional.scaled_dot_product_attention)


PROGRAM = """
import retrograd.as_torch
retrograd.as_torch.install()
import pickle, pickletools, inspect, sys
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2, 2), nn.MultiheadAttention(2, 1), nn.ParameterList([torch.ones(1)]))
named = [arg for op, arg, _ in pickletools.genops(pickle.dumps(model)) if op.name == "SHORT_BINUNICODE"]
assert not [name for name in named if name.startswith("retrograd.nn")], named
for name in ("container", "linear", "activation"):
    assert f"torch.nn.modules.{name}" in named, named
assert pickle.loads(pickle.dumps(model))[0].weight.equal(model[0].weight)
import torch.optim.lr_scheduler as late                     # loaded after install
assert late.StepLR.__module__ == "torch.optim.lr_scheduler" and torch.optim.Adam.__module__ == "torch.optim.adam"
assert repr(nn.Linear) == "<class 'torch.nn.modules.linear.Linear'>" and "class Linear" in inspect.getsource(nn.Linear)
assert nn.functional.gelu.__module__ == "torch._C._nn"
assert nn.functional.relu.__module__ == "torch.nn.functional"
assert sys.modules["torch.nn.modules.linear"] is nn.modules.linear
"""


def test_in_torchs_place_pickles_carry_torchs_names() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_one_value_is_repeated_and_iterables_stay() -> None:
    assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2) and _ntuple(4)(0) == (0, 0, 0, 0) and _pair.__name__ == "_pair"
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert _list_with_default([None, 3], [7, 8, 9]) == [8, 3]
    with pytest.raises(ValueError, match="Input dimension should be at least 3"):
        _list_with_default([1, 2], [5])


def test_prefix_is_removed_from_keys_and_metadata() -> None:
    state = nn.Sequential(nn.Linear(1, 1)).state_dict()
    consume_prefix_in_state_dict_if_present(state, "0.")
    assert list(state) == ["weight", "bias"] and nn.Linear(1, 1).load_state_dict(state)
    assert sorted(state._metadata) == [""]
