"""Samples of the ops in retrograd/ops/nn/glu.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("glu.default")
def glu(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(4, 3), 0)
    yield Sample(make.noncontiguous(2, 4))


@samples("glu_backward.default")
def glu_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), make(3, 4), -1)
    yield Sample(make(2, 3), make(4, 3), 0)
