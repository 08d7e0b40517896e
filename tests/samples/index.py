"""Samples of the ops in retrograd/ops/indexing/index.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


def vector(*values: int) -> torch.Tensor:
    return new_tensor(np.array(values, np.int64))


@samples("_unsafe_index.Tensor")
def unsafe_index(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), [vector(0, 2, 0)], note="duplicates")
    yield Sample(make(3, 4), [None, vector(-1, 1)])
    yield Sample(make(3, 4, order="F"), [vector(0, 2), vector(1, 1)])
    yield Sample(make(3, 4, 5), [make.index(3, 2, 1), None, make.index(5, 3)], note="apart")
    yield Sample(make(3, 4, 5), [None, make.index(4, 2, 2), make.index(5, 2)])
    yield Sample(make.noncontiguous(3, 4), [make.index(3, 2, 2, dtype=np.int32)])
    yield Sample(make(3, 4), [make.index(1, 0)], note="empty")
    yield Sample(make(0, 4), [None, vector(1, 2)])
    yield Sample(make(3, 4), [new_tensor(np.asarray(1))], note="0-d index")
    yield Sample(make(3, 4, dtype=torch.complex128), [vector(1, 1)])


@samples("index.Tensor")
def index(make: Maker) -> Iterator[Sample]:
    yield from unsafe_index(make)
    yield Sample(make(3, 4), [make.mask(3, 4)], note="mask")
    yield Sample(make(3, 4), [make.mask(3), None])


@samples("_unsafe_index_put.default")
def unsafe_index_put(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), [vector(0, 2)], make(2, 4))
    yield Sample(make(3, 4), [vector(0, 2)], make(4), note="values broadcast")
    yield Sample(make(3, 4), [vector(0, 2, 0)], make(3, 4), True, note="accumulate")
    yield Sample(make(3, 4, order="F"), [None, vector(-1, 1)], make(3, 2), accumulate=True)
    yield Sample(make(3, 4), [vector(0, 2), vector(1, 1)], make())
    yield Sample(make(3, 4, 5), [make.index(3, 2), None, vector(0, 1)], make(2, 4), True)
    yield Sample(make(3, 4), [make.index(1, 0)], make(0, 4), note="empty")
    yield Sample(make(3, dtype=torch.complex128), [vector(1)], make(1, dtype=torch.complex128))


@samples("index_put.default", "_index_put_impl.default")
def index_put(make: Maker) -> Iterator[Sample]:
    yield from unsafe_index_put(make)
    yield Sample(make(3, 4), [make.mask(3, 4)], make(), note="mask")
    yield Sample(make.noncontiguous(3, 4), [make.mask(3)], make(1, 4))


@samples("_unsafe_masked_index.default")
def unsafe_masked_index(make: Maker) -> Iterator[Sample]:
    places = torch.tensor([0, 7, -1])
    yield Sample(make(3, 4), torch.tensor([True, False, True]), [None, places], 0.5)
    yield Sample(make(3, 4), torch.tensor([True, False, True]), [places, places], 0)


@samples("_unsafe_masked_index_put_accumulate.default")
def unsafe_masked_index_put(make: Maker) -> Iterator[Sample]:
    places = torch.tensor([0, 7, 0])
    yield Sample(make(3, 4), torch.tensor([True, False, True]), [None, places], make(3, 3))
