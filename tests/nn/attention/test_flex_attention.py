"""Attention with functions of scores and positions, and the blocks that masks leave."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)


def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
    return q >= k


def inputs() -> Any:
    torch.manual_seed(0)
    return [torch.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3)]


def test_without_functions_it_is_attention() -> None:
    q, k, v = inputs()
    assert torch.allclose(flex_attention(q, k, v, scale=0.3), F.scaled_dot_product_attention(q, k, v, scale=0.3), atol=1e-6)
    grouped = flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    assert torch.allclose(grouped, F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True), atol=1e-6)


def test_masks_and_scores_are_functions_of_positions() -> None:
    q, k, v = inputs()
    mask = create_block_mask(causal, None, None, 6, 6)
    masked = flex_attention(q, k, v, block_mask=mask)
    assert torch.allclose(masked, F.scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-6)
    places = torch.arange(6)
    shift = (places[:, None] - places) * 0.1 * torch.arange(4)[:, None, None]
    shifted = flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + (i - j) * 0.1 * h)
    assert torch.allclose(shifted, F.scaled_dot_product_attention(q, k, v, attn_mask=shift), atol=1e-6)
    for output in (masked, shifted):
        grads = torch.autograd.grad(output.sum(), (q, k, v), retain_graph=True)
        assert all([bool(g.isfinite().all()) for g in grads])


def test_queries_that_see_nothing_get_zeros() -> None:
    q, k, v = inputs()
    mask = create_block_mask(lambda b, h, q, k: q < 0, None, None, 6, 6)
    assert flex_attention(q, k, v, block_mask=mask).count_nonzero() == 0
    output, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True, max_scores=True))
    assert torch.equal(flex_attention(q, k, v, return_lse=True)[1], aux.lse) and bool((aux.max_scores <= aux.lse).all())
    assert output.shape == q.shape


def test_blocks_are_partly_or_fully_seen() -> None:
    mask = create_block_mask(causal, 1, 2, 256, 256)
    assert mask.shape == (1, 2, 256, 256) and mask.sparsity() == 25.0 and mask.numel() == 131072
    assert mask.kv_num_blocks.tolist() == [[[1, 1], [1, 1]]] and mask.full_kv_num_blocks.tolist() == [[[0, 1], [0, 1]]]
    assert mask.to_dense()[0, 0].tolist() == [[1, 0], [1, 1]] and mask.q_num_blocks.tolist() == [[[1, 1], [1, 1]]]
    assert str(mask).startswith("BlockMask(shape=(1, 2, 256, 256), sparsity=25.00%, \n(0, 0)\n██  \n████")
    assert "mask_mod=causal" in repr(mask) and mask[:, 0].shape == (1, 1, 256, 256)
    uneven = create_block_mask(causal, 1, 1, 300, 200, BLOCK_SIZE=(64, 32))
    assert uneven.kv_num_blocks.shape == (1, 1, 5) and uneven.shape == (1, 1, 300, 200)
    given = BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]], dtype=torch.int32),
                                     torch.tensor([[[[0, 1], [0, 1]]]], dtype=torch.int32), BLOCK_SIZE=4)
    assert given.seq_lengths == (8, 8) and given.q_num_blocks.tolist() == [[[2, 1]]]


def test_masks_combine() -> None:
    def near(b: Any, h: Any, q: Any, k: Any) -> Any:
        return q - k < 2

    both, either = create_mask(and_masks(causal, near), 1, 1, 4, 4), create_mask(or_masks(causal, near), 1, 1, 4, 4)
    full = torch.ones(4, 4, dtype=torch.bool)
    assert torch.equal(both[0, 0], full.tril() & full.triu(-1)) and bool(either.all())
    with pytest.raises(RuntimeError, match="All inputs should be callable mask_mods"):
        and_masks(causal, 3)


@pytest.mark.parametrize(("change", "error", "text"), [
    (lambda q, k, v: (q[0], k, v), NotImplementedError, "query, key, and value must be 4D tensors"),
    (lambda q, k, v: (q, k[:, :2], v[:, :2]), ValueError, "Try setting enable_gqa=True for GQA"),
    (lambda q, k, v: (q, k[..., :2], v), ValueError, "same embedding dimension but got E=8 and E=2"),
])
def test_inputs_that_do_not_fit_are_refused(change: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        flex_attention(*change(*inputs()))
    with pytest.raises(ValueError, match="block_mask was created for block_mask.shape"):
        flex_attention(*inputs(), block_mask=create_block_mask(causal, None, None, 128, 128))
