"""Sequences of different lengths in one tensor."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)


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


def test_packed_sequence_has_the_rows_of_each_step() -> None:
    packed = pack_padded_sequence(torch.arange(12.0).view(3, 2, 2), torch.tensor([3, 2]))
    assert packed.data[:, 0].tolist() == [0.0, 2.0, 4.0, 6.0, 8.0] and packed.batch_sizes.tolist() == [2, 2, 1]
    padded, lengths = pad_packed_sequence(packed, padding_value=-1.0, total_length=4)
    assert padded[:, 1, 0].tolist() == [2.0, 6.0, -1.0, -1.0] and lengths.tolist() == [3, 2]
    assert packed.to(torch.float64).data.dtype is torch.float64 and packed.to(torch.float32) is packed


def test_order_is_kept_where_sequences_are_not_sorted() -> None:
    given = [torch.tensor([1.0]), torch.tensor([2.0, 3.0, 4.0]), torch.tensor([5.0, 6.0])]
    packed = pack_sequence(given, enforce_sorted=False)
    assert packed.sorted_indices.tolist() == [1, 2, 0] and packed.unsorted_indices.tolist() == [2, 0, 1]
    assert [t.tolist() for t in unpack_sequence(packed)] == [t.tolist() for t in given]


@pytest.mark.parametrize(("lengths", "message"), [
    ([2, 3], "`lengths` array must be sorted in decreasing order"), ([3, 0], "Length of all samples has to be greater than 0"),
    ([3, 2, 1], "Expected `len\\(lengths\\)` to be equal to batch_size, but got 3"),
    ([[3, 2]], "should be a 1D CPU int64 tensor"),
])
def test_lengths_that_do_not_fit_are_refused(lengths: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        pack_padded_sequence(torch.ones(3, 2, 2), lengths)


def test_packed_sequence_needs_sizes() -> None:
    with pytest.raises(AssertionError, match="Expected data to be a list or tuple of length 2"):
        PackedSequence(torch.ones(3))


@pytest.mark.parametrize(("make", "settings", "expected"), [
    (nn.RNN, {}, [-0.12, 0.75635, -0.08324, 0.63554, -0.12, 0.75635, 0.06086, -0.63174]),
    (nn.GRU, {"bidirectional": True}, [-0.4664, -0.49188, 0.20009, -0.13564, -0.4664, -0.49188, -0.69407, -0.66317]),
    (nn.LSTM, {"num_layers": 2}, [0.09955, 0.06577, 0.10147, 0.06692, -0.28511, 0.08685, -0.2159, -0.02444]),
])
def test_network_runs_over_packed_sequences_as_recorded(make: Any, settings: dict[str, Any], expected: list[float]) -> None:
    x = torch.linspace(-1, 1, 24).reshape(4, 3, 2)
    torch.manual_seed(0)
    out, last = make(2, 2, **settings)(pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False))
    last = last[0] if isinstance(last, tuple) else last
    found = pad_packed_sequence(out)[0][1].flatten().tolist()[:4] + last.flatten().tolist()[:4]
    assert found == pytest.approx(expected, abs=2e-5)


def test_packed_and_padded_give_the_same_where_all_are_long() -> None:
    network = nn.GRU(2, 3, bidirectional=True, dtype=torch.float64)
    x = torch.linspace(-1, 1, 16, dtype=torch.float64).view(4, 2, 2)
    out, last = network(x)
    packed, packed_last = network(pack_padded_sequence(x, [4, 4]))
    assert torch.allclose(pad_packed_sequence(packed)[0], out) and torch.allclose(packed_last, last)


def test_packed_sequences_are_cast_to_every_kind_of_number():
    packed = pack_sequence([torch.ones(2), torch.ones(1)])
    kinds = {"byte": torch.uint8, "char": torch.int8, "short": torch.int16}
    assert {name: getattr(packed, name)().data.dtype for name in kinds} == kinds
    assert not packed.is_pinned()


def test_only_tensors_are_padded():
    with pytest.raises(TypeError, match="expected Tensor as element 1 in argument 0, but got int"):
        torch.nn.utils.rnn.pad_sequence([torch.ones(1), 1])


def test_batch_sizes_are_on_the_cpu():
    with pytest.raises(ValueError, match="batch_sizes should always be on CPU"):
        PackedSequence(torch.ones(2), torch.tensor([1, 1], device="meta"))
