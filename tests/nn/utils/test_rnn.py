"""Sequences of different lengths in one tensor."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.nn.utils.rnn import pad_sequence, unpad_sequence


def test_sequences_are_padded_at_either_side() -> None:
    long, short = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0])
    assert pad_sequence([long, short]).tolist() == [[1.0, 4.0], [2.0, 0.0], [3.0, 0.0]]
    padded = pad_sequence([long, short], batch_first=True, padding_value=-1, padding_side="left")
    assert padded.tolist() == [[1.0, 2.0, 3.0], [-1.0, -1.0, 4.0]]
    with pytest.raises(RuntimeError, match="Expected padding_side to be one of left or right, but got top."):
        pad_sequence([long], padding_side="top")


def test_gradients_reach_the_sequences() -> None:
    short = torch.ones(1, requires_grad=True)
    pad_sequence([torch.ones(3), short]).sum().backward()
    assert short.grad.tolist() == [1.0]


def test_padded_sequences_get_their_lengths_back() -> None:
    given = [torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0])]
    found = unpad_sequence(pad_sequence(given), torch.tensor([3, 1]))
    assert [t.tolist() for t in found] == [[1.0, 2.0, 3.0], [4.0]]
