"""Samples of the ops in retrograd/ops/reduction/sums.py."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


def tensors(make: Maker) -> Iterator[Any]:
    """One input of every kind."""
    yield make(3, 4)
    yield make()
    yield make(0, 3)
    yield make.noncontiguous(2, 3)
    yield make(2, 3, 4, order="F")
    yield make(3, dtype=torch.complex128)


def tensor(values: Any) -> Any:
    """A tensor of chosen values that requires grad."""
    return new_tensor(np.asarray(values, np.float64)).requires_grad_()


@samples("sum.default", "mean.default")
def plain(make: Maker) -> Iterator[Sample]:
    for x in tensors(make):
        yield Sample(x)
    yield Sample(make(2, 3, dtype=torch.float32), dtype=torch.float64, note="dtype")


@samples("sum.dim_IntList", "mean.dim")
def over_dims(make: Maker) -> Iterator[Sample]:
    for x in tensors(make):
        yield Sample(x, 0)
    yield Sample(make(3, 4), None)
    yield Sample(make(3, 4), [], note="no dims")
    yield Sample(make(2, 3, 4), (0, -1), True)
    yield Sample(make(2, 3, dtype=torch.float32), 1, dtype=torch.float64, note="dtype")


@samples("nansum.default", "nanmean.default")
def without_nan(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make())
    yield Sample(make(3, 4), 0, True)
    yield Sample(tensor([[1.0, math.nan, 2.0], [math.nan, 3.0, 4.0]]), (1,), grad=False, note="nan")
    yield Sample(make(2, 3, dtype=torch.float32), 1, dtype=torch.float64, note="dtype")


@samples("prod.default")
def products(make: Maker) -> Iterator[Sample]:
    for x in tensors(make):
        yield Sample(x)
    yield Sample(tensor([2.0, 0.0, 3.0]), note="one zero")
    yield Sample(tensor([[2.0, 0.0], [0.0, 3.0]]), note="two zeros")
    yield Sample(make(2, 3, dtype=torch.float32), dtype=torch.float64, note="dtype")


@samples("prod.dim_int")
def products_along(make: Maker) -> Iterator[Sample]:
    for x in tensors(make):
        yield Sample(x, 0)
    yield Sample(tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), -1, True, note="zeros")
    yield Sample(make(2, 3, dtype=torch.float32), 1, dtype=torch.float64, note="dtype")


@samples("any.default", "all.default", "count_nonzero.default")
def logical(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4))
    yield Sample(make(3, 4))
    yield Sample(make.index(2, 5))
    yield Sample(make.mask(0))
    yield Sample(make())


@samples("any.dim", "all.dim")
def logical_along(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), 1)
    yield Sample(make.mask(3, 4), -2, True)
    yield Sample(make.mask(2, 0), 1)
    yield Sample(make(), 0)


@samples("any.dims", "all.dims")
def logical_over(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), (0, 1))
    yield Sample(make.mask(2, 3, 4), (0, -1), True)
    yield Sample(make.mask(3, 4), None)
    yield Sample(make.mask(3, 4), (), note="no dims")


@samples("count_nonzero.dim_IntList")
def counts(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), (0, 1))
    yield Sample(make.index(2, 3, 4), (1,))


@samples("var.correction", "std.correction", "var_mean.correction", "std_mean.correction")
def spread(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1)
    yield Sample(make(2, 3, 4), (0, -1), correction=0, keepdim=True)
    yield Sample(make(5), correction=1.5)
    yield Sample(make.noncontiguous(3, 4), 0)
    yield Sample(make(4, dtype=torch.complex128))
    yield Sample(make(3, 4), None, correction=20, grad=False, note="no freedom")
    yield Sample(make(), grad=False)


@samples("var.dim", "std.dim", "var_mean.dim", "std_mean.dim")
def spread_along(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), (0,), False, True)


@samples("var.default", "std.default", "var_mean.default", "std_mean.default")
def spread_plain(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), False)
    yield Sample(make(3, 4), True)


ORDERS = (2, 0, 1, 3, 1.5, 0.5, math.inf, -math.inf)


@samples("linalg_vector_norm.default")
def vector_norms(make: Maker) -> Iterator[Sample]:
    for order in ORDERS:
        yield Sample(make(3, 4), order)
        yield Sample(make(3, 4), order, 1, True)
    yield Sample(make(2, 3, 4), 2, (0, 2))
    yield Sample(make())
    yield Sample(make(0))
    yield Sample(make(3, dtype=torch.complex128))
    yield Sample(tensor([[0.0, 0.0], [3.0, 4.0]]), 2, 1, grad=False, note="zero norm")
    yield Sample(make(3, dtype=torch.float32), dtype=torch.float64, note="dtype")


@samples("norm.Scalar")
def norms(make: Maker) -> Iterator[Sample]:
    for order in ORDERS:
        yield Sample(make(3, 4), order)


@samples("norm.ScalarOpt_dim")
def norms_along(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), None, [1])
    yield Sample(make(3, 4), 3, [0], True)


@samples("norm.ScalarOpt_dtype")
def norms_dtype(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, dtype=torch.float32), 2, dtype=torch.float64)


@samples("norm.ScalarOpt_dim_dtype")
def norms_along_dtype(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2, dtype=torch.float32), 2, [1], False, dtype=torch.float64)


@samples("logsumexp.default", "special_logsumexp.default")
def log_of_sum(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make(2, 3, 4), (0, -1), True)
    yield Sample(make(), 0)
    yield Sample(make(2, 0), 1)
    yield Sample(make.noncontiguous(2, 3), 0)
    yield Sample(make(3, dtype=torch.complex128), 0)
    yield Sample(tensor([-math.inf, -math.inf]), 0, grad=False, note="infinite")


@samples("trace.default")
def traces(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 3))
    yield Sample(make(4, 2))
    yield Sample(make(2, 4))
    yield Sample(make(3, 3, dtype=torch.complex128))


@samples("hash_tensor.default")
def hash_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, requires_grad=False))
    yield Sample(make.index(9, 2, 3), (1,), keepdim=True)
