"""Samples of the ops in retrograd/ops/nn/pool.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("max_pool1d.default", "max_pool1d_with_indices.default", "avg_pool1d.default")
def in_1d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 6), 2)
    yield Sample(make(2, 7), (3,), (2,), (1,))


@samples("avg_pool2d.default")
def in_2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 4, 6), 2)
    yield Sample(make(2, 5, 5), (3, 2), (2, 1), (1, 0), ceil_mode=True)
    yield Sample(make.channels_last(1, 2, 4, 4), 2, note="channels last")


@samples("max_pool2d.default", "max_pool2d_with_indices.default")
def max_in_2d(make: Maker) -> Iterator[Sample]:
    yield from in_2d(make)
    yield Sample(make(0, 2, 4, 4), 2, note="empty")


@samples("max_pool3d.default", "max_pool3d_with_indices.default", "avg_pool3d.default")
def in_3d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 2, 4, 4), 2)
    yield Sample(make(2, 3, 3, 3), 2, 1)


@samples("max_pool2d_with_indices_backward.default")
def max_pool2d_backward(make: Maker) -> Iterator[Sample]:
    input = make(1, 2, 4, 4)
    yield Sample(make(1, 2, 2, 2), input, 2, 2, 0, 1, False, torch.ops.aten.max_pool2d_with_indices(input.detach(), 2)[1])


@samples("max_pool3d_with_indices_backward.default")
def max_pool3d_backward(make: Maker) -> Iterator[Sample]:
    input = make(1, 2, 2, 4, 4)
    yield Sample(make(1, 2, 1, 2, 2), input, 2, 2, 0, 1, False, torch.ops.aten.max_pool3d_with_indices(input.detach(), 2)[1])


@samples("avg_pool2d_backward.default")
def avg_pool2d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 2, 2), make(1, 2, 4, 4), 2, 2, 0, False, True, None)


@samples("avg_pool3d_backward.default")
def avg_pool3d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 1, 2, 2), make(1, 2, 2, 4, 4), 2, 2, 0, False, True, None)


@samples("adaptive_avg_pool1d.default", "adaptive_max_pool1d.default")
def adaptive_1d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 5), 3)


@samples("adaptive_avg_pool2d.default", "_adaptive_avg_pool2d.default", "adaptive_max_pool2d.default")
def adaptive_2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 5, 4), (3, 2))
    yield Sample(make(2, 4, 4), (2, 4))
    yield Sample(make.channels_last(1, 2, 4, 4), (3, 2), note="channels last")


@samples("adaptive_avg_pool3d.default", "_adaptive_avg_pool3d.default", "adaptive_max_pool3d.default")
def adaptive_3d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 5, 4), (2, 3, 2))


@samples("_adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool2d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 2), make(1, 2, 5, 4))


@samples("_adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool3d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 2, 3, 2), make(1, 2, 3, 5, 4))


@samples("adaptive_max_pool2d_backward.default")
def adaptive_max_pool2d_backward(make: Maker) -> Iterator[Sample]:
    input = make(1, 2, 5, 4)
    yield Sample(make(1, 2, 3, 2), input, torch.ops.aten.adaptive_max_pool2d(input.detach(), (3, 2))[1])


@samples("adaptive_max_pool3d_backward.default")
def adaptive_max_pool3d_backward(make: Maker) -> Iterator[Sample]:
    input = make(1, 2, 3, 5, 4)
    yield Sample(make(1, 2, 2, 3, 2), input, torch.ops.aten.adaptive_max_pool3d(input.detach(), (2, 3, 2))[1])


@samples("max_unpool2d.default")
def unpool_2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 1, 2, 2), torch.tensor([[[[0, 3], [13, 7]]], [[[5, 2], [8, 15]]]]), (4, 4))
    yield Sample(make(1, 2, 1), torch.tensor([[[4], [2]]]), (2, 3))


@samples("max_unpool3d.default")
def unpool_3d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 1, 1, 2, 2), torch.tensor([[[[[0, 3], [13, 30]]]]]), (2, 4, 4), (2, 2, 2), (0, 0, 0))


@samples("fractional_max_pool2d.default")
def fractional_2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 5, 6), (2, 3), (3, 2), make(2, 2, 2, low=0.0, high=1.0, requires_grad=False))
    yield Sample(make(1, 4, 4), 2, (1, 3), make(1, 1, 2, low=0.0, high=1.0, requires_grad=False), note="one window")
    yield Sample(make(0, 1, 4, 4), 2, 2, make(0, 1, 2, low=0.0, high=1.0, requires_grad=False), note="empty")


@samples("fractional_max_pool3d.default")
def fractional_3d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 4, 5, 4), 2, (2, 3, 2), make(1, 2, 3, low=0.0, high=1.0, requires_grad=False))


@samples("fractional_max_pool2d_backward.default")
def fractional_2d_backward(make: Maker) -> Iterator[Sample]:
    input, sample = make(1, 2, 5, 6), make(1, 2, 2, low=0.0, high=1.0, requires_grad=False)
    indices = torch.ops.aten.fractional_max_pool2d(input.detach(), 2, (3, 2), sample)[1]
    yield Sample(make(1, 2, 3, 2), input, 2, (3, 2), indices)


@samples("fractional_max_pool3d_backward.default")
def fractional_3d_backward(make: Maker) -> Iterator[Sample]:
    input, sample = make(1, 2, 4, 5, 4), make(1, 2, 3, low=0.0, high=1.0, requires_grad=False)
    indices = torch.ops.aten.fractional_max_pool3d(input.detach(), 2, (2, 3, 2), sample)[1]
    yield Sample(make(1, 2, 2, 3, 2), input, 2, (2, 3, 2), indices)
