"""Samples of the ops in retrograd/ops/reduction/scan.py."""
from __future__ import annotations

import math
from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples
from tests.samples.sums import tensor, tensors


@samples("cumsum.default", "cumprod.default")
def running(make: Maker) -> Iterator[Sample]:
    for x in tensors(make):
        yield Sample(x, 0)
    yield Sample(make(3, 4), -1)
    yield Sample(tensor([[2.0, 0.0, 3.0, 0.5], [0.0, 1.0, 0.0, 2.0]]), 1, note="zeros")
    yield Sample(make(2, 3, dtype=torch.float32), 1, dtype=torch.float64, note="dtype")
    yield Sample(make.index(5, 4), 0)


@samples("cumsum_.default", "cumprod_.default")
def running_in_place(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make(), 0)
    yield Sample(make.noncontiguous(3, 4), 0)
    yield Sample(make.index(5, 4), 0)


@samples("cummax.default", "cummin.default")
def extremes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make.noncontiguous(3, 4), 0)
    yield Sample(make(), 0)
    yield Sample(make(0), 0)
    yield Sample(tensor([1.0, 3.0, 3.0, 2.0]), 0, grad=False, note="ties")
    yield Sample(tensor([1.0, math.nan, 3.0]), 0, grad=False, note="nan")


@samples("logcumsumexp.default")
def log_of_sums(make: Maker) -> Iterator[Sample]:
    for x in tensors(make):
        yield Sample(x, 0)
    yield Sample(make(3, 4), -1)
