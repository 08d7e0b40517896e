"""Samples of ops/nn/padding.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples

PADS = {1: [(1, 2), (0, 1), (-1, 1), (-1, -1)], 2: [(1, 2, 0, 1), (-1, 1, 1, -1)], 3: [(1, 0, 1, 1, 0, 1), (0, 1, -1, 1, 1, 0)]}


def inputs(make: Maker, rank: int) -> Iterator[tuple[object, tuple[int, ...]]]:
    shape = (3, 4, 2)[-rank:] if rank > 1 else (4,)
    for pad in PADS[rank]:
        pad = pad if rank == 1 else tuple([min(n, 1) for n in pad])
        yield make(2, 2, *shape), pad
    yield make(2, *shape), (1,) * 2 * rank
    yield make(0, 2, *shape), (1,) * 2 * rank
    yield make.noncontiguous(2, 2, *shape), (1,) * 2 * rank


@samples(*[f"{kind}_pad1d.default" for kind in ("reflection", "replication")])
def pad1d(make: Maker) -> Iterator[Sample]:
    for x, pad in inputs(make, 1):
        yield Sample(x, pad)


@samples(*[f"{kind}_pad2d.default" for kind in ("reflection", "replication")])
def pad2d(make: Maker) -> Iterator[Sample]:
    for x, pad in inputs(make, 2):
        yield Sample(x, pad)


@samples(*[f"{kind}_pad3d.default" for kind in ("reflection", "replication")])
def pad3d(make: Maker) -> Iterator[Sample]:
    for x, pad in inputs(make, 3):
        yield Sample(x, pad)


@samples(*[f"{kind}_pad1d_backward.default" for kind in ("reflection", "replication")])
def pad1d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 7), make(2, 2, 4, requires_grad=False), (1, 2))
    yield Sample(make(2, 3), make(2, 4, requires_grad=False), (-1, 0))


@samples(*[f"{kind}_pad2d_backward.default" for kind in ("reflection", "replication")])
def pad2d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 4, 6), make(2, 2, 3, 4, requires_grad=False), (1, 1, 0, 1))


@samples(*[f"{kind}_pad3d_backward.default" for kind in ("reflection", "replication")])
def pad3d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4, 5), make(1, 2, 2, 3, 4, requires_grad=False), (1, 0, 0, 1, 1, 0))
