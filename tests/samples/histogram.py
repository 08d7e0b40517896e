"""Samples of the ops in retrograd/ops/reduction/histogram.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


@samples("histogram.bins_tensor")
def histogram_bins(make: Maker) -> Iterator[Sample]:
    for density in (False, True):
        bins = new_tensor(np.array([-1.7, -0.52, 0.48, 1.6])).requires_grad_()
        yield Sample(make(10), bins, density=density)
        yield Sample(make(2, 5), bins, weight=make(2, 5, low=0.5), density=density)


@samples("histogram.bin_ct")
def histogram(make: Maker) -> Iterator[Sample]:
    for density in (False, True):
        yield Sample(make(10), 4, density=density)
        yield Sample(make(2, 5), 3, weight=make(2, 5, low=0.5), density=density)
        yield Sample(make(10), 3, range=(-1.5, 1.5), weight=make(10, low=0.5), density=density)
    yield Sample(make(1), 3, note="no extent")
    yield Sample(make(0), 2, note="empty")


@samples("_histogramdd_bin_edges.default", "histogramdd.default")
def grid(make: Maker) -> Iterator[Sample]:
    yield Sample(make(6, 2, requires_grad=False), (2, 3))
    yield Sample(make(6, 1, requires_grad=False), (2,), range=(-1.0, 1.0))


@samples("histogramdd.int_bins")
def grid_of_one_count(make: Maker) -> Iterator[Sample]:
    yield Sample(make(6, 2, requires_grad=False), 3, weight=make(6, requires_grad=False), density=True)


@samples("_histogramdd_from_bin_tensors.default", "histogramdd.TensorList_bins")
def grid_of_edges(make: Maker) -> Iterator[Sample]:
    edges = [torch.tensor([-1.0, 0.0, 1.0], dtype=make.dtype), torch.tensor([-2.0, 2.0], dtype=make.dtype)]
    yield Sample(make(6, 2, requires_grad=False), edges, density=True)
