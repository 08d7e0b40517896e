"""Attention on sequences of different lengths, and when it is refused."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn


def sequences():
    return torch.nested.nested_tensor([torch.arange(8.0).view(2, 4) / 10, torch.arange(12.0).view(3, 4) / 10])


def attention(**options):
    return nn.MultiheadAttention(4, 2, batch_first=True, **options).eval()


def test_each_sequence_attends_to_itself():
    layer, x = attention(), sequences()
    with torch.no_grad():
        made, weights = layer(x, x, x)
        parts = [layer(part, part, part) for part in x.unbind()]
    assert made.is_nested and weights.shape == (2, 3, 3)
    for i, (output, own) in enumerate(parts):
        assert torch.allclose(made.unbind()[i], output)
        assert torch.allclose(weights[i, :len(own), :len(own)], own) and not weights[i, len(own):].any()
    with torch.no_grad():
        assert layer(x, x, x, need_weights=False)[1] is None


def test_an_encoder_takes_sequences_of_different_lengths():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()
    with torch.no_grad():
        made = encoder(sequences())
        alone = encoder(sequences().unbind()[1][None])
    assert torch.allclose(made.unbind()[1], alone[0], atol=1e-6)


@pytest.mark.parametrize(("layer", "reason"), [
    (nn.MultiheadAttention(4, 2, batch_first=True), "training is enabled"),
    (nn.MultiheadAttention(4, 2).eval(), "batch_first was not True"),
    (nn.MultiheadAttention(4, 1, batch_first=True).eval(), "self.num_heads is not even"),
    (nn.MultiheadAttention(4, 2, add_bias_kv=True, batch_first=True).eval(), "self.bias_k was not None"),
])
def test_layers_that_do_not_take_them_say_why(layer, reason):
    x = sequences()
    with torch.no_grad(), pytest.raises(AssertionError, match=f"outside of its fast path. .* because {reason}"):
        layer(x, x, x)


def test_nothing_is_learned_from_sequences_of_different_lengths():
    x = sequences()
    with pytest.raises(AssertionError, match="grad is enabled and at least one of query"):
        attention()(x, x, x)
    with torch.no_grad(), pytest.raises(AssertionError, match="non-self attention was used"):
        attention()(x, sequences(), x)


def test_the_faster_way_is_a_setting():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1).eval()
    hidden = torch.tensor([[False, True]])
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            assert encoder(torch.rand(1, 2, 4), src_key_padding_mask=hidden)[0, 1].any()
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    with torch.no_grad():
        assert not encoder(torch.rand(1, 2, 4), src_key_padding_mask=hidden)[0, 1].any()


def test_masks_are_merged():
    layer, x = attention(), torch.ones(2, 3, 4)
    padding = torch.zeros(2, 3)
    assert layer.merge_masks(None, None, x) == (None, None)
    assert layer.merge_masks(None, padding, x)[1] == 1
    mask, kind = layer.merge_masks(torch.ones(3, 3), padding, x)
    assert mask.shape == (2, 2, 3, 3) and kind == 2
