"""Samples of the ops in retrograd/ops/pointwise.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("add.Tensor", "sub.Tensor")
def linear_binary(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(make(), make(2, 3), alpha=2.5)
    yield Sample(make(2, 3), 2)
    yield Sample(make.noncontiguous(3, 4), make(3, 4, order="F"), alpha=-1)
    yield Sample(make(0, 3), make(3))
