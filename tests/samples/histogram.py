"""Samples of the ops in retrograd/ops/reduction/histogram.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
