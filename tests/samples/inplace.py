"""Samples of the ops in retrograd/ops/views/inplace.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("as_strided_.default")
def as_strided(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 2), (1, 4))
    yield Sample(make(3, 4), (2,), (1,), 3)


@samples("t_.default", "squeeze_.default")
def whole(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 1))
    yield Sample(make())


@samples("transpose_.default", "swapaxes_.default", "swapdims_.default")
def pairs_of_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), 0, -1)
    yield Sample(make(0, 3), 0, 1)


@samples("squeeze_.dim", "unsqueeze_.default")
def one_dim(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 3), 0)
    yield Sample(make(3, 1), -1)


@samples("squeeze_.dims")
def several_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 3, 1), (0, 2))
