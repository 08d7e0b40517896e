"""Samples of the ops in retrograd/ops/memory/functional_forms.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("copy.default")
def copy(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 4), make(4))
    yield Sample(make(), make())
    yield Sample(make(0, 3), make(3))
    yield Sample(make.noncontiguous(2, 3), make(2, 3, order="F"))
    yield Sample(make(2, dtype=torch.complex128), make(2))


@samples("zero.default")
def zero(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make())
    yield Sample(make(0, 2))
    yield Sample(make.noncontiguous(2, 3))


@samples("uniform.default", "normal_functional.default", "exponential.default", "cauchy.default", "log_normal.default",
         "random.default")
def drawn(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(2), generator=torch.Generator())


@samples("geometric.default")
def geometric(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.3)


@samples("random.from")
def random_from(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), -3, 9)
    yield Sample(make(3, 4), 3, None)


@samples("random.to")
def random_to(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 9)


@samples("bernoulli.Tensor")
def bernoulli(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, low=0.0, high=1.0))
