"""Samples of the ops in retrograd/ops/nn/unfold.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("im2col.default")
def im2col(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4, 5), (3, 3), (1, 1), (0, 0), (1, 1))
    yield Sample(make(3, 4, 5), (2, 3), (2, 1), (1, 0), (2, 1))


@samples("col2im.default")
def col2im(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 18, 6), (4, 5), (3, 3), (1, 1), (0, 0), (1, 1))
    yield Sample(make(12, 6), (4, 5), (2, 3), (2, 1), (1, 0), (2, 1))
