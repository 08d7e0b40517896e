"""Samples of the ops in retrograd/ops/nn/softmax.py."""
from __future__ import annotations

import math
from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("_safe_softmax.default")
def safe_softmax(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), 0, torch.float64)
    yield Sample(torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf]]), 1, note="a row of nothing")


@samples("_softmax.default", "_log_softmax.default")
def softmax_kernels(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, False)
    yield Sample(make(2, 3, 4), -2, False)
    yield Sample(make(), 0, False)
    yield Sample(make(0, 3), 1, False)
    yield Sample(make.noncontiguous(2, 3), 1, False)


@samples("softmax.int", "log_softmax.int")
def softmax(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make(), -1)
    yield Sample(make(3, 4), 0, dtype=torch.float64)


@samples("_softmax_backward_data.default", "_log_softmax_backward_data.default")
def softmax_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, low=0.1, high=0.5), 1, torch.float64)
    yield Sample(make(3, 4), make(3, 4, low=-1, high=-0.1), 0, torch.float64)
    yield Sample(make(), make(low=0.1, high=0.5), 0, torch.float64)
