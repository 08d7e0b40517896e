"""Samples of the ops in retrograd/ops/reduction/sort.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples
from tests.samples.extrema import NANS, TIES
from tests.samples.sums import tensor


@samples("sort.default", "argsort.default")
def sorting(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 0, True)
    yield Sample(make())
    yield Sample(make(0, 3))
    yield Sample(make(2, 3, 4, order="F"), 1)
    yield Sample(make.index(9, 5))
    yield Sample(tensor(TIES), 1, grad=False, note="ties")
    yield Sample(tensor(NANS), 1, True, grad=False, note="nan")


@samples("sort.stable", "argsort.stable")
def sorting_stably(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), stable=True)
    yield Sample(tensor(TIES), stable=True, dim=1, descending=True, grad=False, note="ties")


@samples("msort.default")
def sorting_first(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make.noncontiguous(3, 4))


@samples("topk.default")
def largest(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2)
    yield Sample(make(3, 4), 2, 0, False)
    yield Sample(make(6), 3, sorted=False, grad=False, note="unsorted")
    yield Sample(make(), 1)
    yield Sample(make(3, 4), 0)


@samples("_unique.default")
def unique_old(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(3, 6))
    yield Sample(make.index(3, 6), True, True)


@samples("_unique2.default")
def unique(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(3, 6))
    yield Sample(make.index(3, 2, 3), True, True, True)
    yield Sample(tensor(NANS).detach(), True, True, True)


@samples("unique_dim.default")
def unique_slices(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(2, 6, 2), 0, True, True, True)
    yield Sample(make.index(2, 2, 6), 1)


@samples("unique_consecutive.default")
def unique_runs(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(2, 8), True, True)
    yield Sample(make.index(2, 6, 1), True, True, 0)


@samples("unique_dim_consecutive.default")
def unique_slice_runs(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(2, 6, 1), 0, True, True)


@samples("searchsorted.Tensor")
def search(make: Maker) -> Iterator[Sample]:
    bounds = tensor([1.0, 2.0, 2.0, 3.0]).detach()
    yield Sample(bounds, make(2, 3))
    yield Sample(bounds, tensor([2.0, 5.0, 0.0]), right=True)
    yield Sample(bounds, tensor([2.0]), side="right", out_int32=True)
    yield Sample(make.index(3, 2, 4).sort()[0], make.index(4, 2, 3))
    yield Sample(make.index(9, 4), make.index(9, 3), sorter=make.index(1, 4))


@samples("searchsorted.Scalar")
def search_number(make: Maker) -> Iterator[Sample]:
    yield Sample(tensor([1.0, 2.0, 3.0]), 2.5)


@samples("bucketize.Tensor")
def buckets(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), tensor([-1.0, 0.0, 1.0]))
    yield Sample(tensor([0.0, 1.0]), tensor([-1.0, 0.0, 1.0]), right=True, out_int32=True)


@samples("bucketize.Scalar")
def bucket(make: Maker) -> Iterator[Sample]:
    yield Sample(0.5, tensor([-1.0, 0.0, 1.0]))


@samples("isin.Tensor_Tensor")
def member(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(5, 2, 3), make.index(5, 2))
    yield Sample(make.index(5, 6), make.index(5, 2), invert=True)
    yield Sample(tensor(NANS), tensor(NANS), note="nan")


@samples("isin.Tensor_Scalar")
def member_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(3, 6), 1)


@samples("isin.Scalar_Tensor")
def number_member(make: Maker) -> Iterator[Sample]:
    yield Sample(1, make.index(3, 6))


@samples("histc.default")
def histogram(make: Maker) -> Iterator[Sample]:
    yield Sample(make(20), 4)
    yield Sample(make(20), 4, -1, 1)


@samples("bincount.default")
def counts(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(5, 9))
    yield Sample(make.index(5, 9), make(9), 8)
