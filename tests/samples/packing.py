"""Samples of the ops in retrograd/ops/nn/packing.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("_pack_padded_sequence.default")
def pack(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2, 2), torch.tensor([3, 2]), False)
    yield Sample(make(3, 4), torch.tensor([4, 4, 1]), True)


@samples("_pack_padded_sequence_backward.default")
def unpack(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 2), (3, 2, 2), torch.tensor([2, 2, 1]), False)
    yield Sample(make(5), (2, 3), torch.tensor([2, 2, 1]), True)


@samples("_pad_packed_sequence.default")
def pad(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 2), torch.tensor([2, 2, 1]), False, 0.0, -1)
    yield Sample(make(5), torch.tensor([2, 2, 1]), True, 9.0, 5)
