"""Samples of the ops in retrograd/ops/reduction/segments.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples

REDUCTIONS = ("sum", "mean", "max", "min", "prod")


@samples("segment_reduce.default")
def segment_reduce(make: Maker) -> Iterator[Sample]:
    for reduce in REDUCTIONS:
        yield Sample(make(6), reduce, lengths=torch.tensor([2, 1, 3]))
        yield Sample(make(2, 4, 3), reduce, offsets=torch.tensor([[0, 1, 4], [0, 2, 4]]), axis=1, initial=0.5)
    yield Sample(make(4, 2), "sum", lengths=torch.tensor([0, 4]), note="an empty segment")


@samples("_segment_reduce_backward.default")
def segment_reduce_backward(make: Maker) -> Iterator[Sample]:
    lengths, data = torch.tensor([2, 1, 3]), make(6)
    for reduce in ("sum", "mean"):
        yield Sample(make(3), make(3, requires_grad=False), data, reduce, lengths=lengths)
