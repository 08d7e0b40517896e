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


def test_replicas_say_that_their_gradients_cannot_be_dropped():
    model = nn.Linear(1, 1)
    model._is_replica = True
    with pytest.warns(UserWarning, match="has no effect"):
        model.zero_grad()


@pytest.mark.parametrize(("name", "value", "error", "words"), [
    ("", torch.ones(1, 1), KeyError, "be empty string"),
    ("weight.x", torch.ones(1), TypeError, "(?s)submodule `weight`: .* is not an instance of torch.nn.Module"),
    ("in_features", torch.ones(1), TypeError, "attribute `in_features`: 1 is not an instance of torch.Tensor"),
    ("a.b", torch.ones(1), AttributeError, "Linear has no attribute `a`"),
])
def test_a_functional_call_puts_tensors_only_where_there_are_some(name, value, error, words):
    with pytest.raises(error, match=words):
        torch.func.functional_call(nn.Linear(1, 1), {name: value}, torch.ones(1, 1))


def test_a_module_moves_to_memory_formats_only():
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments"):
        nn.Linear(1, 1).to("cpu", memory_format=5)


def test_padding_modes_are_checked_before_lengths():
    with pytest.raises(NotImplementedError, match="Unrecognised padding mode odd"):
        nn.functional.pad(torch.ones(2, 3), (1,), "odd")
    with pytest.raises(RuntimeError, match="Negative padding value is resulting in an empty dimension"):
        nn.functional.pad(torch.ones(2, 3, 4), (-3, -3), "circular")


def test_average_pooling_to_a_size_takes_no_channels_in_two_dimensions():
    assert nn.functional.adaptive_avg_pool2d(torch.ones(2, 0, 6, 6), 2).shape == (2, 0, 2, 2)
    with pytest.raises(RuntimeError, match="with dimension 1 being empty"):
        nn.functional.adaptive_max_pool2d(torch.ones(2, 0, 6, 6), 2)
