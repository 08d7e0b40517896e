"""Samples of the ops in retrograd/ops/linalg/distance.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


@samples("_cdist_forward.default")
def cdist_forward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 4), 2.0, None)
    for p in (0.0, 1.0, 1.5, 3.0, float("inf")):
        yield Sample(make(3, 4), make(2, 4), p, None)


@samples("_cdist_backward.default")
def cdist_backward(make: Maker) -> Iterator[Sample]:
    for p in (2.0, 1.0, 3.0, 1.5, 0.0):
        a, b = make(3, 4), make(2, 4)
        yield Sample(make(3, 2), a, b, p, torch.cdist(a.detach(), b.detach(), p).requires_grad_())
    same = make(2, 3)
    yield Sample(make(2, 2), same, same.detach().clone(), 2.0, torch.cdist(same.detach(), same.detach()), grad=False,
                 note="coincident")


@samples("_euclidean_dist.default", "cdist.default")
def cdist(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 4))


@samples("_pdist_forward.default", "pdist.default")
def pdist(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3))
    yield Sample(make(4, 3), 1.0)


@samples("_pdist_backward.default")
def pdist_backward(make: Maker) -> Iterator[Sample]:
    for p in (2.0, 1.0, 3.0, 1.5):
        a = make(4, 3)
        yield Sample(make(6), a, p, torch.pdist(a.detach(), p).requires_grad_())


@samples("renorm.default")
def renorm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2, 0, 1.0)
    yield Sample(make(3, 4), 1, 1, 2.0)


@samples("gcd.default", "lcm.default")
def of_integers(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(20, 3, 4, low=1), make.index(20, 4, low=1))
    yield Sample(make.index(20, 3, low=-20), make.index(20, 3))


@samples("heaviside.default")
def heaviside(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(new_tensor(np.array([0.0, 1.0, -1.0])), make(3), note="at the step")


@samples("frexp.Tensor")
def frexp(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))


@samples("pixel_shuffle.default")
def pixel_shuffle(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 8, 2, 3), 2)


@samples("pixel_unshuffle.default")
def pixel_unshuffle(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 4, 6), 2)


@samples("channel_shuffle.default", "native_channel_shuffle.default")
def channel_shuffle(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 4, 2, 2), 2)


@samples("fill_diagonal_.default")
def fill_diagonal(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 3), 5.0)
    yield Sample(make(7, 3), 5.0, True)


@samples("is_nonzero.default")
def is_nonzero(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1))
    yield Sample(new_tensor(np.array(0.0)))


@samples("is_same_size.default")
def is_same_size(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3))
    yield Sample(make(2, 3), make(3))


@samples("_is_all_true.default", "_is_any_true.default")
def of_mask(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(2, 3))
