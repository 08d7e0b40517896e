"""Samples of the ops in retrograd/ops/memory/tangents.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("_new_zeros_with_same_feature_meta.default")
def zeros_with_same_meta(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5), make(2, 3, 4))
    yield Sample(make(2, 3), make.noncontiguous(3, 4))
    yield Sample(make(2, 3, 4), make(4, 2, order="F"), self_num_batch_dims=2)
    yield Sample(make(2, 3), make(), self_num_batch_dims=1)
    yield Sample(make(1, 0, 2), make(1, 2), self_num_batch_dims=1)
