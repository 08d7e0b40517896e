"""The choice of attention kernels, and causal masks by name."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel
from retrograd.nn.attention.bias import causal_lower_right, causal_upper_left


def test_chosen_kernels_are_in_force_inside_the_block() -> None:
    before = _cur_sdpa_kernel_backends()
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert _cur_sdpa_kernel_backends(with_priority=True) == [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
        with sdpa_kernel(SDPBackend.MATH):
            assert _cur_sdpa_kernel_backends() == [SDPBackend.MATH]
    assert _cur_sdpa_kernel_backends() == before and SDPBackend.MATH in before
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"), sdpa_kernel(3):
        pass


def test_causal_masks_by_name_are_masks() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
    for mask, shift in ((causal_upper_left(3, 5), 0), (causal_lower_right(3, 5), 2)):
        dense = torch.ones(3, 5, dtype=torch.bool).tril(shift)
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=dense)
        assert torch.equal(F.scaled_dot_product_attention(q, k, v, attn_mask=mask), expected) and repr(mask) == repr(dense)
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=True)
    with pytest.warns(UserWarning, match="will produce NaNs"):
        causal_lower_right(5, 3)
