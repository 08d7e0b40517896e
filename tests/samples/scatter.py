"""Samples of the ops in retrograd/ops/indexing/scatter.py, indexing/slices.py and indexing/flat.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples
from tests.samples.index import vector


def table(*rows: list[int]) -> torch.Tensor:
    return new_tensor(np.array(rows, np.int64))


def one(value: int) -> torch.Tensor:
    return new_tensor(np.asarray(value, np.int64))


def values(*numbers: float) -> torch.Tensor:
    return new_tensor(np.array(numbers)).requires_grad_()


@samples("gather.default")
def gather(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, make.index(3, 2, 4))
    yield Sample(make(3, 4), -1, make.index(4, 3, 6), note="duplicates")
    yield Sample(make(3, 4, order="F"), 1, make.index(4, 2, 2, dtype=np.int32), sparse_grad=False)
    yield Sample(make.noncontiguous(3, 4), 0, make.index(3, 2, 3))
    yield Sample(make(), 0, one(0), note="0-d")
    yield Sample(make(3, 4), 0, make.index(1, 0, 4), note="empty")
    yield Sample(make(2, 3, dtype=torch.complex128), 1, make.index(3, 2, 2))


@samples("scatter.src")
def scatter_src(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, table([0, 1, 2, 0], [2, 0, 1, 1]), make(2, 4))
    yield Sample(make(3, 4, order="F"), -1, table([0, 3], [1, 0], [2, 1]), make(3, 2))
    yield Sample(make(3, 4), 0, make.index(3, 2, 2), make(3, 4), grad=False, note="source larger than index")
    yield Sample(make(), 0, one(0), make(), note="0-d")
    yield Sample(make(3, 4), 0, make.index(1, 0, 4), make(0, 4), note="empty")
    yield Sample(make(3, dtype=torch.complex128), 0, vector(2, 0), make(2, dtype=torch.complex128))


@samples("scatter.value")
def scatter_value(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, table([0, 1, 2, 0], [2, 0, 1, 1]), 2.5)
    yield Sample(make.noncontiguous(3, 4), 1, make.index(4, 3, 2), 1)
    yield Sample(make(), 0, one(0), 3)


@samples("scatter.reduce")
def scatter_reduced_source(make: Maker) -> Iterator[Sample]:
    for name in ("add", "multiply"):
        yield Sample(make(3, 4), 0, make.index(3, 2, 4), make(2, 4), reduce=name)


@samples("scatter.value_reduce")
def scatter_reduced_value(make: Maker) -> Iterator[Sample]:
    for name in ("add", "multiply"):
        yield Sample(make(3, 4), 0, make.index(3, 2, 4), 2.5, reduce=name)


@samples("scatter_add.default")
def scatter_add(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, make.index(3, 5, 4), make(5, 4), note="duplicates")
    yield Sample(make(3, 4, order="F"), 1, make.index(4, 2, 2), make(2, 2))
    yield Sample(make(), 0, one(0), make())
    yield Sample(make(3), 0, make.index(1, 0), make(0), note="empty")


@samples("scatter_reduce.two")
def scatter_reduce(make: Maker) -> Iterator[Sample]:
    for name in ("sum", "prod", "mean", "amax", "amin"):
        yield Sample(make(3, 4), 0, make.index(3, 5, 4), make(5, 4), name)
        yield Sample(make(3, 4), 1, make.index(4, 3, 6), make(3, 6), name, include_self=False)
        yield Sample(values(1.0, 2.0, 3.0), 0, vector(0, 0, 2), values(1.0, 1.0, 4.0), name, grad=False, note="ties")
        yield Sample(values(0.0, 2.0, 3.0), 0, vector(0, 1, 1), values(1.0, 0.0, 4.0), name, note="zeros")
    yield Sample(values(1.0, 2.0), 0, vector(1, 1), values(0.0, 0.0), "prod", grad=False, note="two zeros in one place")


@samples("index_select.default")
def index_select(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, vector(2, 0, 2))
    yield Sample(make(3, 4, order="F"), -1, make.index(4, 2, dtype=np.int32))
    yield Sample(make(3, 4), 0, one(1), note="0-d index")
    yield Sample(make(), 0, vector(0), note="0-d")
    yield Sample(make(3, 4), 1, make.index(1, 0), note="empty")


@samples("index_add.default")
def index_add(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, vector(2, 0), make(2, 4))
    yield Sample(make(3, 4), 1, vector(1, 1, 3), make(3, 3), alpha=2.5, note="duplicates")
    yield Sample(make.noncontiguous(3, 4), 0, make.index(3, 2, dtype=np.int32), make(2, 4))
    yield Sample(make(), 0, vector(0), make(), note="0-d")
    yield Sample(make(3, 4), 0, make.index(1, 0), make(0, 4), note="empty")


@samples("index_copy.default")
def index_copy(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, vector(2, 0), make(2, 4))
    yield Sample(make(3, 4, order="F"), -1, vector(1, 3), make(3, 2))
    yield Sample(make(3), 0, vector(1), make(), note="0-d source")
    yield Sample(make(), 0, vector(0), make(), note="0-d")


@samples("index_fill.int_Scalar")
def index_fill_scalar(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, vector(2, -3), 2.5)
    yield Sample(make(3, 4), 1, one(1), 1)
    yield Sample(make(), 0, vector(0), 3)


@samples("index_fill.int_Tensor")
def index_fill_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, vector(2, 0), make())
    yield Sample(make(3, 4), 1, vector(1, 1), make(), note="duplicates")


@samples("index_reduce.default")
def index_reduce(make: Maker) -> Iterator[Sample]:
    for name in ("prod", "mean", "amax", "amin"):
        yield Sample(make(3, 4), 0, vector(2, 0, 2), make(3, 4), name)
        yield Sample(make(3, 4), 1, vector(1, 1, 3), make(3, 3), name, include_self=False)
        yield Sample(values(0.0, 2.0, 3.0), 0, vector(0, 1, 1), values(1.0, 0.0, 4.0), name, note="zeros")


@samples("take.default")
def take(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), table([0, 11], [-5, 5]))
    yield Sample(make(3, 4, order="F"), one(3))
    yield Sample(make(), vector(0))
    yield Sample(make(3, 4), make.index(1, 0), note="empty")


@samples("put.default")
def put(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), table([0, 11], [-5, 5]), make(2, 2))
    yield Sample(make(3, 4, order="F"), vector(1, 1, 3), make(3), True, note="duplicates")
    yield Sample(make(3, 4), make.index(1, 0), make(0), note="empty")


@samples("take_along_dim.default")
def take_along_dim(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.index(4, 3, 2), 1)
    yield Sample(make(3, 4), make.index(4, 1, 2), dim=1, note="broadcast")
    yield Sample(make(3, 4), make.index(12, 2, 2), note="flat")
