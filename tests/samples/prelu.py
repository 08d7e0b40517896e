"""Samples of the ops in retrograd/ops/nn/prelu.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("prelu.default")
def prelu(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3))
    yield Sample(make(2, 3, 4), make(3))
    yield Sample(make(4), make(1))
    yield Sample(make(), make())


@samples("_prelu_kernel.default")
def prelu_kernel(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(1, 3))
    yield Sample(make(4), make(1))


@samples("_prelu_kernel_backward.default")
def prelu_kernel_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3), make(2, 3))
