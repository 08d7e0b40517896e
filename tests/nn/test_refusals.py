"""Modules refuse sizes, dtypes and ranks that they cannot work with, in PyTorch's words."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn


@pytest.mark.parametrize("cls", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers_check_sizes_and_dtypes(cls) -> None:
    with pytest.raises(TypeError, match="input_size should be of type int, got: float"):
        cls(10.0, 5)
    with pytest.raises(ValueError, match="input_size must be greater than zero"):
        cls(0, 5)
    with pytest.raises(ValueError, match=r"RNN input dtype \(torch.float64\) does not match weight dtype \(torch.float32\)"):
        cls(10, 5)(torch.ones(2, 3, 10, dtype=torch.float64))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cls(10, 5)(torch.ones(2, 3, 10, dtype=torch.bfloat16))


@pytest.mark.parametrize("cls", [nn.RNN, nn.GRU])
def test_only_lstm_projects(cls) -> None:
    with pytest.raises(ValueError, match="proj_size argument is only supported for LSTM"):
        cls(10, 5, proj_size=2)


@pytest.mark.parametrize(("cls", "name"), [(nn.RNNCell, "hidden"), (nn.GRUCell, "hidden"), (nn.LSTMCell, r"hx\[0\]")])
def test_cells_check_the_rank_of_their_states(cls, name: str) -> None:
    state = torch.ones(1, 1, 1, 20)
    with pytest.raises(ValueError, match=f"{cls.__name__}: Expected {name} to be 1D or 2D, got 4D instead"):
        cls(10, 20)(torch.ones(2, 10), (state, state) if cls is nn.LSTMCell else state)


@pytest.mark.parametrize(("cls", "shape", "text"), [
    (nn.CircularPad1d, (1, 1, 1, 4), r"expected 2D or 3D input \(got 4D input\)"),
    (nn.CircularPad2d, (1, 1, 1, 1, 4), r"expected 3D or 4D input \(got 5D input\)"),
    (nn.CircularPad3d, (1, 1), r"expected 4D or 5D input \(got 2D input\)"),
])
def test_circular_padding_checks_the_rank(cls, shape, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        cls(1)(torch.ones(shape))


def test_delta_is_a_number() -> None:
    with pytest.raises(TypeError, match="delta must be a float or int, got: <class 'complex'>"):
        nn.HuberLoss(delta=1j)
