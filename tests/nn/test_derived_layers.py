"""What programs that derive modules call: checks of recurrent layers, hooks that count, replicas, convolutions by kernel."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import _direct_convolutions as direct
from retrograd import nn


@pytest.mark.parametrize("cls", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers_check_inputs_and_states(cls) -> None:
    layer, x = cls(2, 3, num_layers=2, bidirectional=True), torch.ones(4, 5, 2)
    size = layer.get_expected_hidden_size(x, None)
    assert size == (4, 5, 3) and layer.get_expected_hidden_size(x[0], torch.tensor([3, 2])) == (4, 3, 3)
    state = torch.zeros(size)
    states = (state, state) if cls is nn.LSTM else state
    layer.check_forward_args(x, states, None)
    with pytest.raises(RuntimeError, match="input must have 2 dimensions, got 3"):
        layer.check_input(x, torch.tensor([1]))
    with pytest.raises(RuntimeError, match="Expected 2, got 1"):
        layer.check_input(x[..., :1], None)
    with pytest.raises(RuntimeError, match=r"Expected hidden.*size \(4, 5, 3\), got \[3, 5, 3\]"):
        layer.check_forward_args(x, (state[1:], state) if cls is nn.LSTM else state[1:], None)
    order = torch.tensor([4, 3, 2, 1, 0])
    counted = torch.arange(60.0).view(size)
    moved = layer.permute_hidden((counted, counted) if cls is nn.LSTM else counted, order)
    assert torch.equal(moved[0] if cls is nn.LSTM else moved, counted[:, order])
    assert layer.permute_hidden(states, None) is states


def test_hooks_that_count_are_the_modules_and_everybodys() -> None:
    layer = nn.ReLU()
    assert layer._get_backward_hooks() == ([], []) and layer._get_backward_pre_hooks() == []
    mine, every = (lambda *args: None), (lambda *args: None)
    layer.register_full_backward_hook(mine)
    handle = nn.modules.module.register_module_full_backward_hook(every)
    try:
        assert layer._get_backward_hooks() == ([every, mine], [])
    finally:
        handle.remove()
    layer.register_full_backward_pre_hook(mine)
    assert layer._get_backward_pre_hooks() == [mine]


def test_replicas_share_buffers_and_have_no_parameters() -> None:
    layer = nn.BatchNorm1d(2)
    replica = layer._replicate_for_data_parallel()
    assert type(replica) is nn.BatchNorm1d and not replica._parameters and replica.running_mean is layer.running_mean
    replica._buffers["running_mean"] = None
    assert layer.running_mean is not None and len(list(layer.parameters())) == 2


def test_convolutions_by_kernel_are_convolutions() -> None:
    x, w = torch.randn(1, 2, 6, 6), torch.randn(2, 2, 3, 3)
    torch.testing.assert_close(direct.thnn_conv2d(x, w, [3, 3], None, 2, 1), torch.conv2d(x, w, None, 2, 1))
    torch.testing.assert_close(direct.slow_conv_dilated2d(x, w, [3, 3], dilation=2), torch.conv2d(x, w, dilation=2))
    torch.testing.assert_close(direct.slow_conv_transpose2d(x, w, [3, 3], None, 2), torch.conv_transpose2d(x, w, None, 2))
    torch.testing.assert_close(direct.conv_depthwise2d(x, w[:, :1], [3, 3], None, 1, 0, 1), torch.conv2d(x, w[:, :1], groups=2))
    y, v = torch.randn(1, 2, 4, 4, 4), torch.randn(2, 2, 2, 2, 2)
    torch.testing.assert_close(direct.slow_conv3d(y, v, [2, 2, 2]), torch.conv3d(y, v))
    torch.testing.assert_close(direct.slow_conv_dilated3d(y, v, [2, 2, 2], dilation=2), torch.conv3d(y, v, dilation=2))
    torch.testing.assert_close(direct.slow_conv_transpose3d(y, v, [2, 2, 2]), torch.conv_transpose3d(y, v))
    v = v[:, :1]
    torch.testing.assert_close(direct.conv_depthwise3d(y, v, [2, 2, 2], None, 1, 0, 1), torch.conv3d(y, v, groups=2))
