"""Samples of the ops in retrograd/ops/reduction/statistics.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


@samples("diff.default")
def diff(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 2, 0)
    yield Sample(make(3, 4), prepend=make(3, 1), append=make(3, 2))


@samples("trapezoid.x", "trapz.x", "cumulative_trapezoid.x")
def integrals_over_places(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4))
    yield Sample(make(3, 4), make(3, 4), dim=0)


@samples("trapezoid.dx", "trapz.dx", "cumulative_trapezoid.dx")
def integrals(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), dx=0.5, dim=0)


@samples("gradient.scalarint")
def gradient(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 5))
    yield Sample(make(4, 5), spacing=0.5, dim=1, edge_order=2)


@samples("gradient.scalararray")
def gradient_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 5), spacing=0.5, dim=(0, 1))


@samples("gradient.scalarrayint")
def gradient_spacings(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 5), spacing=(0.5, 2.0))


@samples("gradient.scalarrayarray")
def gradient_spacings_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 5), spacing=(0.5, 2.0), dim=(0, 1))


def places(count: int) -> Any:
    return new_tensor(np.arange(count) ** 1.5)


@samples("gradient.tensorarrayint")
def gradient_places(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 5), spacing=[places(5)], dim=1)


@samples("gradient.tensorarray")
def gradient_places_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 5), spacing=[places(4), places(5)], dim=(0, 1))


@samples("gradient.array")
def gradient_of_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 5), dim=(0, 1))


@samples("quantile.default", "nanquantile.default")
def quantiles(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5), new_tensor(np.array([0.1, 0.6])), 1)


@samples("quantile.scalar", "nanquantile.scalar")
def quantile(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5), 0.3)
    yield Sample(make(3, 5), 0.3, 0, True, interpolation="lower")


@samples("cov.default")
def cov(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5))
    yield Sample(make(3, 5), correction=0, aweights=make(5, low=0.1, requires_grad=False))


@samples("corrcoef.default")
def corrcoef(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5))
