"""Tables of vectors that were made elsewhere."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn


def test_bag_takes_a_given_table() -> None:
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    bag = nn.EmbeddingBag.from_pretrained(table, mode="sum")
    assert bag(torch.tensor([[0, 1]])).tolist() == [[4.0, 6.0]] and not bag.weight.requires_grad
    learning = nn.EmbeddingBag.from_pretrained(table, freeze=False, padding_idx=0)
    assert learning.weight.requires_grad and learning(torch.tensor([[0, 1]])).tolist() == [[3.0, 4.0]]
    with pytest.raises(AssertionError, match="Embeddings parameter is expected to be 2-dimensional"):
        nn.EmbeddingBag.from_pretrained(table[0])
