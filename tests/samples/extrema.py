"""Samples of the ops in retrograd/ops/reduction/extrema.py."""
from __future__ import annotations

import math
from collections.abc import Iterator

from tests.samples import Maker, Sample, samples
from tests.samples.sums import tensor

TIES = [[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0]]
NANS = [[1.0, math.nan, 3.0], [math.nan, math.nan, 2.0]]


@samples("max.default", "min.default", "median.default", "nanmedian.default")
def full(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make())
    yield Sample(make.noncontiguous(2, 3))
    yield Sample(make.index(9, 5))
    yield Sample(tensor(TIES), grad=False, note="ties")
    yield Sample(tensor(NANS), grad=False, note="nan")


@samples("max.dim", "min.dim", "median.dim", "nanmedian.dim", "mode.default")
def along(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), -2, True)
    yield Sample(make(), 0)
    yield Sample(make(3, 0), 0)
    yield Sample(make.noncontiguous(2, 3), 0)
    yield Sample(make.index(9, 5, 2), 0)
    yield Sample(tensor(TIES), 1, grad=False, note="ties")


@samples("max.other", "min.other")
def of_two(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4))
    yield Sample(make(), make(2))


@samples("amax.default", "amin.default")
def over(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1)
    yield Sample(make(2, 3, 4), (0, -1), True)
    yield Sample(make())
    yield Sample(make.noncontiguous(2, 3), 0)
    yield Sample(tensor(TIES), 1, grad=False, note="ties")


@samples("aminmax.default")
def both(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), dim=1)
    yield Sample(make(3, 4), dim=0, keepdim=True)
    yield Sample(make())
    yield Sample(tensor(TIES), dim=1, grad=False, note="ties")


@samples("argmax.default", "argmin.default")
def positions(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), 0, True)
    yield Sample(make(3, 4), None, True)
    yield Sample(make())
    yield Sample(tensor(TIES), 1, note="ties")
    yield Sample(tensor(NANS), 1, note="nan")


@samples("kthvalue.default")
def kth(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2)
    yield Sample(make(3, 4), 3, 0, True)
    yield Sample(make(), 1)
    yield Sample(tensor(TIES), 3, grad=False, note="ties")


@samples("value_selecting_reduction_backward.default")
def selecting(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3), 1, make.index(4, 3), [3, 4], False)
    yield Sample(make(1, 4), 0, make.index(3, 1, 4), [3, 4], True)
