"""Attention in one call, nested tensors from padded ones, and flags of recurrent layers."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn


def layer() -> tuple:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.randn(2, 3, 4)
    args = (x, x, x, 4, 2, attention.in_proj_weight, attention.in_proj_bias, attention.out_proj.weight,
            attention.out_proj.bias)
    return attention, x, args


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_one_call_is_what_the_module_computes(average, masked) -> None:
    attention, x, args = layer()
    mask = torch.tensor([[False, False, True], [False, True, True]]) if masked else None
    wanted = attention(x, x, x, key_padding_mask=mask, average_attn_weights=average)
    made = torch._native_multi_head_attention(*args, mask, True, average, 1 if masked else None)
    torch.testing.assert_close(tuple(made), wanted)
    assert torch._native_multi_head_attention(*args, need_weights=False)[1] is None


def test_nested_sequences_attend_to_themselves() -> None:
    attention, x, args = layer()
    nested = torch.nested.nested_tensor([x[0], x[1, :2]])
    out, _ = torch._native_multi_head_attention(nested, nested, nested, *args[3:], need_weights=False)
    torch.testing.assert_close(out.unbind()[1], attention(x[1:, :2], x[1:, :2], x[1:, :2])[0][0])


def test_attention_refuses_other_shapes() -> None:
    _, x, args = layer()
    with pytest.raises(RuntimeError, match="expected 3-D `query`"):
        torch._native_multi_head_attention(x[0], *args[1:])
    with pytest.raises(RuntimeError, match="`embed_dim` must divide evenly"):
        torch._native_multi_head_attention(*args[:4], 3, *args[5:])


def test_queries_are_scaled_and_split_by_heads() -> None:
    qkv, bias = torch.randn(2, 3, 12), torch.randn(12)
    q, k, v = torch._transform_bias_rescale_qkv(qkv, bias, 2)
    torch.testing.assert_close(q * 2 ** 0.5, (qkv + bias)[..., :4].reshape(2, 3, 2, 2).transpose(1, 2))
    torch.testing.assert_close(v, (qkv + bias)[..., 8:].reshape(2, 3, 2, 2).transpose(1, 2))
    assert k.shape == (2, 2, 3, 2)


def test_masks_make_nested_tensors_when_they_begin_at_the_left() -> None:
    x, mask = torch.randn(2, 3, 4), torch.tensor([[True, True, False], [True, False, False]])
    made = torch._nested_tensor_from_mask(x, mask)
    assert [torch.equal(a, b) for a, b in zip(made.unbind(), (x[0, :2], x[1, :1]), strict=True)] == [True, True]
    gap = torch.tensor([[True, False, True], [True, False, False]])
    assert torch._nested_tensor_from_mask_left_aligned(x, mask) and not torch._nested_tensor_from_mask_left_aligned(x, gap)
    for args, text in (((x, gap), "Mask must be left-aligned without gaps"), ((x, mask.long()), "to be of ScalarType Bool"),
                       ((x[0], mask), "3D tensor"), ((x, mask[:, :2]), "Mask size should match input size")):
        with pytest.raises(RuntimeError, match=text):
            torch._nested_tensor_from_mask(*args)


@pytest.mark.parametrize("cls", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("name", ["bias", "batch_first"])
@pytest.mark.parametrize("flag", [0, 1, "False"])
def test_flags_of_recurrent_layers_are_truth_values(cls, name, flag) -> None:
    with pytest.raises(TypeError, match=f"{name} should be of type bool, got: {type(flag).__name__}"):
        cls(2, 3, **{name: flag})


def test_convolutions_take_conjugate_views() -> None:
    x, w = torch.randn(1, 2, 5, dtype=torch.complex64), torch.randn(2, 2, 3, dtype=torch.complex64)
    torch.testing.assert_close(nn.functional.conv1d(x.conj(), w.conj()), nn.functional.conv1d(x, w).conj().resolve_conj())
    torch.testing.assert_close(nn.functional.conv_transpose1d(x.conj(), w),
                               nn.functional.conv_transpose1d(x.conj().resolve_conj(), w))


def test_the_kernel_without_a_matrix_of_weights_is_chosen_where_it_fits() -> None:
    q, k = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4)
    mask = torch.ones(3, 5, dtype=torch.bool)
    assert [torch._fused_sdp_choice(q, k, k, given) for given in (None, mask, mask.expand(2, 1, 3, 5))] == [1, 1, 1]
    for args in ((q[0], k[0], k[0]), (q, k, k[..., :2]), (q, k[:, :1], k[:, :1]), (q, k, k, mask.expand(2, 3, 5)),
                 (q, k, k, None, 0.5), (q.transpose(2, 3), k.transpose(2, 3), k.transpose(2, 3))):
        assert torch._fused_sdp_choice(*args) == 0
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        assert torch._fused_sdp_choice(q, k, k) == 0
    with (nn.attention.sdpa_kernel(nn.attention.SDPBackend.EFFICIENT_ATTENTION),
          pytest.raises(RuntimeError, match="No viable backend for scaled_dot_product_attention")):
        torch._fused_sdp_choice(q, k, k)
