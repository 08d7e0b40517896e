"""Samples of the ops in retrograd/ops/nn/rrelu.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("rrelu_with_noise.default", "rrelu_with_noise_.default")
def rrelu_with_noise(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, requires_grad=False), 0.1, 0.3)
    yield Sample(make(3, 4), make(3, 4, requires_grad=False), 0.1, 0.3, True)


@samples("rrelu_with_noise_backward.default")
def rrelu_with_noise_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 4, requires_grad=False), 0.1, 0.3, True, False)
    yield Sample(make(3, 4), make(3, 4), make(3, 4, requires_grad=False), 0.1, 0.3, False, True)


@samples("rrelu.default", "rrelu_.default")
def rrelu(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.1, 0.3)
    yield Sample(make(3, 4), 0.1, 0.3, True)
