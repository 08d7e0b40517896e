"""Fake quantization: what gradients reach the numbers, scales and zero points; what is refused."""
from __future__ import annotations

import pytest

import retrograd as torch


def test_gradients_pass_where_a_level_exists():
    x = torch.tensor([-1.0, -0.26, 0.05, 0.3, 2.0], requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)
    assert y.tolist() == pytest.approx([-0.3, -0.3, 0.0, 0.3, 1.2])
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0, 1, 1, 1, 0]
    assert torch.func.jvp(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15), (x,), (x,))[1].tolist() == (
        x * torch.tensor([0, 1, 1, 1, 0])).tolist()


def test_learned_scales_and_zero_points_get_gradients():
    # out of range: the end of the range, less the zero point; else what rounding has added, in steps
    x = torch.tensor([1.5, -0.29, -2.0, 0.57], requires_grad=True)
    scale, zero = torch.tensor([0.1], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    for factor in (1.0, 2.0):
        y = torch._fake_quantize_learnable_per_tensor_affine(x, scale, zero, 0, 15, factor)
        own, of_scale, of_zero = torch.autograd.grad(y.sum(), (x, scale, zero))
        assert own.tolist() == [0, 1, 0, 1]
        assert of_scale.item() == pytest.approx(factor * (12 - 3 + (-0.3 + 0.29) / 0.1 + (0.6 - 0.57) / 0.1), abs=1e-5)
        assert of_zero.item() == pytest.approx(factor * -0.2, abs=1e-6)


def test_channels_have_gradients_of_their_own():
    x = torch.tensor([[0.11, 5.0], [0.24, -5.0]], requires_grad=True)
    scale, zero = torch.tensor([0.1, 0.2], requires_grad=True), torch.tensor([0.0, 1.0], requires_grad=True)
    y = torch._fake_quantize_learnable_per_channel_affine(x, scale, zero, 0, 0, 7, 1.0)
    assert y.flatten().tolist() == pytest.approx([0.1, 0.7, 0.2, -0.2])
    of_scale, of_zero = torch.autograd.grad(y.sum(), (scale, zero))
    assert of_scale.tolist() == pytest.approx([-0.1 + 7, -0.2 - 1], abs=1e-5)
    assert of_zero.tolist() == pytest.approx([-0.1, -0.2])


def test_levels_and_qparams_that_do_not_fit_are_refused():
    x = torch.randn(2, 3)
    with pytest.raises(RuntimeError, match="`quant_min` should be less than or"):
        torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 15, 0)
    with pytest.raises(RuntimeError, match="`zero_point` must be between `quant_min` and `quant_max`"):
        torch.fake_quantize_per_tensor_affine(x, 0.1, 30, 0, 15)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.fake_quantize_per_tensor_affine(x.long(), 0.1, 3, 0, 15)
    for scale, zero, said in ((torch.ones(3), torch.zeros(3), "not consistent with input tensor"),
                              (torch.ones(2), torch.zeros(3), "need to have the same dimensions"),
                              (torch.ones(2), torch.zeros(2).double(), "Zero-point must be Int32, Float or Half, found Double"),
                              (torch.ones(2).double(), torch.zeros(2), "Scale must be Float or BFloat16, found Double")):
        with pytest.raises(RuntimeError, match=said):
            torch.fake_quantize_per_channel_affine(x, scale, zero, 0, 0, 15)
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        torch.fake_quantize_per_tensor_affine(x, torch.ones(2), torch.tensor(0), 0, 15)
    with pytest.raises(IndexError, match="select\\(\\) cannot be applied to a 0-dim tensor"):
        torch._fake_quantize_learnable_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(0.0), 0, 15)


def test_products_of_bytes_are_exact():
    a = torch.full((1, 300), -128, dtype=torch.int8)
    assert torch._int_mm(a, a.t()).tolist() == [[128 * 128 * 300]]
    with pytest.raises(RuntimeError, match="Expected self dtype to be int8 or uint8 but got float"):
        torch._int_mm(a.float(), a.t())
