"""Samples of what a tensor says of itself."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples

FACTS = ("dim", "size", "stride", "numel", "storage_offset", "sym_size", "sym_stride", "sym_numel", "sym_storage_offset",
         "is_contiguous", "is_non_overlapping_and_dense", "device", "layout", "lift", "lift_fresh", "lift_fresh_copy")


def tensors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make.noncontiguous(2, 3))
    yield Sample(make())
    yield Sample(make(0, 2))


for name in FACTS:
    samples(f"{name}.default")(tensors)


@samples("size.int", "stride.int", "sym_size.int", "sym_stride.int")
def along(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 0)
    yield Sample(make(2, 3), -1)


@samples("is_contiguous.memory_format", "is_strides_like_format.default")
def formats(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4, 5), torch.channels_last)
    yield Sample(make(2, 3, 4, 5), torch.contiguous_format)
