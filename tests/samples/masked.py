"""Samples of the ops in retrograd/ops/indexing/masked.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import retrograd as torch
from tests.samples import Maker, Sample, samples
from tests.samples.index import vector


@samples("where.self")
def where(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), make(3, 4), make(3, 4))
    yield Sample(make.mask(4), make(3, 1), make())
    yield Sample(make.mask(2, 1, 2), make(2, 2, 1), make(1, 2, 2), note="broadcast")
    yield Sample(make.mask(3, 4), make(3, 4, order="F"), make.noncontiguous(3, 4))
    yield Sample(make.mask(0, 4), make(0, 4), make(4), note="empty")
    # a complex gradient for the real one is refused
    yield Sample(make.mask(3), make(3, dtype=torch.complex128), make(3), grad=False, note="real and complex")


@samples("where.ScalarSelf")
def where_scalar_self(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), 2, make(3, 4))
    yield Sample(make.mask(3, 1), 2.5, make(4))


@samples("where.ScalarOther")
def where_scalar_other(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), make(3, 4), 2)
    yield Sample(make.mask(3, 1), make(4), 2.5)


@samples("where.Scalar")
def where_scalar(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), 1, 2)
    yield Sample(make.mask(3), 1, 2.5)


@samples("where.default", "nonzero.default", "nonzero_numpy.default", "argwhere.default")
def nonzero(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4))
    yield Sample(make(2, 3, requires_grad=False))
    yield Sample(make.mask(0, 2), note="empty")
    yield Sample(make(requires_grad=False), note="0-d")


@samples("nonzero_static.default")
def nonzero_static(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), size=3)
    yield Sample(make.mask(3), size=5, fill_value=7)


@samples("masked_fill.Scalar")
def masked_fill_scalar(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.mask(3, 4), 2.5)
    yield Sample(make(3, 4, order="F"), make.mask(4), 1)
    yield Sample(make(4), make.mask(3, 1), 1, note="self broadcast")
    yield Sample(make(), make.mask(), 2)


@samples("masked_fill.Tensor")
def masked_fill_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.mask(3, 4), make())
    yield Sample(make.noncontiguous(3, 4), make.mask(4), make())


@samples("masked_select.default")
def masked_select(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.mask(3, 4))
    yield Sample(make(3, 4, order="F"), make.mask(4))
    yield Sample(make(4), make.mask(3, 1), note="self broadcast")
    yield Sample(make(), make.mask(2), note="0-d")


@samples("masked_scatter.default")
def masked_scatter(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.mask(3, 4), make(12))
    yield Sample(make(3, 4), make.mask(4), make(5, 3), note="longer source")


@samples("masked_scatter_backward.default")
def masked_scatter_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.mask(3, 4), [2, 6])


@samples("embedding.default")
def embedding(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 3), make.index(5, 2, 4))
    yield Sample(make(5, 3), vector(0, 2, 2), 2, grad=False, note="padding")
    yield Sample(make(5, 3), make.index(5, 3, dtype=np.int32), grad=False, scale_grad_by_freq=True)


@samples("embedding_dense_backward.default")
def embedding_dense_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), make.index(5, 2, 4), 5, -1, False)
    yield Sample(make(3, 3), vector(0, 2, 2), 5, 2, False, note="padding")


@samples("embedding_renorm_.default")
def embedding_renorm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 3, requires_grad=False), vector(0, 2, 2), 1.0, 2.0, grad=False)


@samples("one_hot.default")
def one_hot(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(3, 2, 2))
    yield Sample(make.index(3, 4), 5)
