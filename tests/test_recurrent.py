"""Recurrent networks as functions of their weights."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(("function", "module"), [
    (torch.lstm, nn.LSTM(3, 4, 2, bidirectional=True)), (torch.lstm, nn.LSTM(3, 4, 1, proj_size=2)),
    (torch.gru, nn.GRU(3, 4, 2)), (torch.rnn_tanh, nn.RNN(3, 4)), (torch.rnn_relu, nn.RNN(3, 4, nonlinearity="relu"))])
def test_the_function_gives_what_the_module_gives(function, module, batch_first):
    module.batch_first = batch_first
    x = torch.randn(5, 5, 3)
    count = module.num_layers * (2 if module.bidirectional else 1)
    hidden = torch.randn(count, 5, module.proj_size or 4)
    state = (hidden, torch.randn(count, 5, 4)) if function is torch.lstm else hidden
    output, last = module(x, state)
    made = function(x, state, module._flat_weights, True, module.num_layers, 0.0, True, module.bidirectional, batch_first)
    torch.testing.assert_close(made, (output, *last) if isinstance(last, tuple) else (output, last))


def test_packed_data_come_with_the_sizes_of_their_batches():
    module = nn.GRU(3, 4)
    packed = nn.utils.rnn.pack_sequence([torch.randn(3, 3), torch.randn(2, 3)])
    hidden = torch.zeros(1, 2, 4)
    output, last = module(packed, hidden)
    made = torch.gru(packed.data, packed.batch_sizes, hidden, module._flat_weights, True, 1, 0.0, False, False)
    torch.testing.assert_close(made, (output.data, last))


def test_a_convolution_over_time_has_its_channels_last():
    x, weight, bias = torch.randn(5, 2, 3), torch.randn(2, 3, 4), torch.randn(4)
    made = torch.conv_tbc(x, weight, bias, 1)
    assert made.shape == (6, 2, 4)
    torch.testing.assert_close(made[1], x[0] @ weight[0] + x[1] @ weight[1] + bias)


def test_parts_of_sparse_tensors_have_copies():
    x = torch.eye(2).to_sparse().coalesce()
    assert torch.values_copy(x).tolist() == [1.0, 1.0]
    assert torch.indices_copy(x).tolist() == [[0, 1], [0, 1]]
    assert torch.crow_indices_copy(torch.eye(2).to_sparse_csr()).tolist() == [0, 1, 2]


def test_anything_that_takes_part_can_be_the_equation_of_einsum():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__
    assert torch.einsum(Like(), Like()) == "einsum"
