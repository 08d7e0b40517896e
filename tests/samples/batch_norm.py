"""Samples of the ops in retrograd/ops/nn/batch_norm.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("native_batch_norm.default")
def native_batch_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2, 4), make(2), make(2), None, None, True, 0.1, 1e-5)
    yield Sample(make(4, 3), None, None, make(3, requires_grad=False), make(3, low=0.5, high=2.0, requires_grad=False), False,
                 0.1, 1e-5, note="evaluation")


@samples("native_batch_norm_backward.default")
def native_batch_norm_backward(make: Maker) -> Iterator[Sample]:
    mean, deviation = make(2, requires_grad=False), make(2, low=0.5, high=2.0, requires_grad=False)
    yield Sample(make(3, 2), make(3, 2), make(2), mean, deviation, mean, deviation, False, 1e-5, (True, True, True))


@samples("batch_norm.default")
def batch_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2, 4), make(2), make(2), None, None, True, 0.1, 1e-5, False)
    yield Sample(make(3, 2, 2, 2), None, None, None, None, True, 0.1, 1e-5, False)


@samples("instance_norm.default")
def instance_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2, 4), make(2), make(2), None, None, True, 0.1, 1e-5, False)


@samples("_native_batch_norm_legit.default")
def batch_norm_with_statistics(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), make(3), make(3), make(3, requires_grad=False),
                 make(3, low=0.5, high=2.0, requires_grad=False), False, 0.1, 1e-5, note="evaluation")


@samples("_native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2, 4), make(2), make(2), True, 0.1, 1e-5)


@samples("_batch_norm_with_update.default")
def batch_norm_with_update(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2, 4), make(2), make(2), make(2, requires_grad=False),
                 make(2, low=0.5, high=2.0, requires_grad=False), 0.0, 1e-5)
