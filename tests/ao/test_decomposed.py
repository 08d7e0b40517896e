"""The ops of `quantized_decomposed`: rounding over ordinary integer tensors."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.ao.quantization.fx import _decomposed

ops = torch.ops.quantized_decomposed


def test_rounding_a_tensor_and_back() -> None:
    x = torch.tensor([-20.0, -1.26, 0.0, 0.24, 3.0])
    q = ops.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
    assert q.dtype is torch.int8 and q.tolist() == [-128, -10, 3, 5, 33]
    back = ops.dequantize_per_tensor(q, 0.1, 3, -128, 127, torch.int8)
    torch.testing.assert_close(back, torch.tensor([-13.1, -1.3, 0.0, 0.2, 3.0]))
    assert ops.dequantize_per_tensor(q, 0.1, 3, -128, 127, torch.int8, out_dtype=torch.float16).dtype is torch.float16
    scale, zero_point = torch.tensor([0.1], dtype=torch.float64), torch.tensor([3])
    assert torch.equal(ops.quantize_per_tensor.tensor(x, scale, zero_point, -128, 127, torch.int8), q)


def test_scale_chosen_for_a_tensor_covers_its_range() -> None:
    scale, zero_point = ops.choose_qparams.tensor(torch.tensor([-1.0, 4.0]), 0, 255, 1e-6, torch.uint8)
    assert scale.item() == pytest.approx(5 / 255) and zero_point.tolist() == [51]
    scale, zero_point = ops.choose_qparams_symmetric.tensor(torch.tensor([-1.0, 4.0]), -127, 127, 1e-6, torch.int8)
    assert scale.item() == pytest.approx(4 / 127) and zero_point.tolist() == [0]


def test_channels_tokens_and_groups_have_scales_of_their_own() -> None:
    x, ones = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.zeros(2, dtype=torch.int64)
    per_channel = ops.quantize_per_channel(x, torch.tensor([1.0, 0.5]), ones, 1, -128, 127, torch.int8)
    assert per_channel.tolist() == [[1, 4], [3, 8]]
    assert ops.dequantize_per_channel(per_channel, torch.tensor([1.0, 0.5]), None, 1, -128, 127, torch.int8).equal(x)
    scales, zero_points = ops.choose_qparams_per_token(x, torch.int8)
    per_token = ops.quantize_per_token(x, scales, zero_points, -128, 127, torch.int8)
    assert per_token.tolist() == [[64, 127], [95, 127]]
    groups = ops.quantize_per_channel_group(x, torch.tensor([[1.0], [0.5]]), torch.zeros(2, 1), -8, 7, torch.int8, 2)
    assert groups.tolist() == [[1, 2], [6, 7]]


def test_gradient_of_rounded_channels_stops_outside_the_limits() -> None:
    x = torch.tensor([[0.5, 9.0]], requires_grad=True)
    ops.fake_quant_per_channel(x, torch.ones(1), torch.zeros(1), 0, -5, 5).sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0]]


def test_rounding_runs_on_meta_tensors() -> None:
    made = ops.quantize_per_tensor(torch.empty(3, device="meta"), 0.1, 0, -128, 127, torch.int8)
    assert made.device.type == "meta" and made.dtype is torch.int8 and made.shape == (3,)


def test_what_cannot_be_rounded_is_refused() -> None:
    x = torch.ones(2, 2)
    with pytest.raises(AssertionError, match="Expecting input to have dtype torch.float32, but got dtype: torch.float64"):
        ops.quantize_per_tensor(x.double(), 0.1, 0, -128, 127, torch.int8)
    with pytest.raises(AssertionError, match="quant_min out of bounds for dtype"):
        ops.quantize_per_tensor(x, 0.1, 0, -1000, 127, torch.int8)
    with pytest.raises(AssertionError, match="input.shape\\[-1\\] must be divisible by group_size"):
        ops.quantize_per_channel_group(x, torch.ones(2, 1), torch.zeros(2, 1), -8, 7, torch.int8, 3)
    with pytest.raises(AssertionError, match="num_tokens: 2 scales: torch.Size\\(\\[3\\]\\)"):
        _decomposed._per_token_quant_qparam_dim_check(x, torch.ones(3), torch.zeros(2))
