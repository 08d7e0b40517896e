"""Samples of the ops in retrograd/ops/elementwise/binary.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


@samples("pow.Tensor_Tensor", "float_power.Tensor_Tensor")
def power(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.2), make(3, 4))
    yield Sample(make(2, 3, low=0.2), make(3))
    yield Sample(make(low=0.2), make())
    yield Sample(make.noncontiguous(2, 3, low=0.2), make(2, 3, order="F"))
    yield Sample(make(2, dtype=torch.complex128), make(2, dtype=torch.complex128))
    zero = new_tensor(np.zeros(3)).requires_grad_()
    yield Sample(zero, new_tensor(np.array([0.0, 1.0, 2.0])).requires_grad_(), grad=False, note="base zero")


@samples("pow.Tensor_Scalar", "float_power.Tensor_Scalar")
def power_by_number(make: Maker) -> Iterator[Sample]:
    for exponent in (0, 1, 2, 3, 2.5, 0.5, -0.5, -1.0, -2.0):
        yield Sample(make(2, 3, low=0.2), exponent)
    yield Sample(make(low=0.2), 4)
    yield Sample(make.noncontiguous(2, 3), 2)
    yield Sample(make(2, dtype=torch.complex128), 1.5)


@samples("pow.Scalar", "float_power.Scalar")
def power_of_number(make: Maker) -> Iterator[Sample]:
    yield Sample(2.5, make(3, 4))
    yield Sample(1, make(3))
    yield Sample(3, make())
    yield Sample(0, make(3, low=0.5), grad=False, note="base zero")
    yield Sample(2, make.noncontiguous(2, 3))


@samples("square.default", "sqrt.default", "rsqrt.default")
def roots(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.2))
    yield Sample(make(low=0.2))
    yield Sample(make(0, 2))
    yield Sample(make.noncontiguous(2, 3, low=0.2))
    yield Sample(make(3, dtype=torch.complex128))
    yield Sample(make.index(9, 3, low=1))


@samples("abs.default", "abs_.default", "absolute.default", "sign.default", "sgn.default", "signbit.default")
def signs(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make())
    yield Sample(make(0, 2))
    yield Sample(make.noncontiguous(2, 3))
    yield Sample(make.index(9, 3, low=-9))
    yield Sample(new_tensor(np.array([0.0, -0.0, 2.0])).requires_grad_(), grad=False, note="zero")


@samples("copysign.Tensor", "nextafter.default", "atan2.default", "arctan2.default", "hypot.default", "logaddexp.default",
         "logaddexp2.default", "ldexp.Tensor")
def two_operands(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(make(), make(2, 3))
    yield Sample(make(0, 3), make(3))
    yield Sample(make.noncontiguous(3, 4), make(3, 4, order="F"))


@samples("copysign.Scalar")
def sign_of_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), -2)
    yield Sample(make(), 0.0)
    yield Sample(make.noncontiguous(2, 3), 1.5)


@samples("xlogy.Tensor")
def weighted_logarithm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, low=0.2))
    yield Sample(make(3, 1), make(4, low=0.2))
    yield Sample(make(), make(low=0.2))
    yield Sample(new_tensor(np.zeros(2)).requires_grad_(), make(2, low=0.0, high=0.0), grad=False, note="zero")


@samples("xlogy.Scalar_Self")
def number_times_logarithm(make: Maker) -> Iterator[Sample]:
    yield Sample(2.5, make(3, 4, low=0.2))
    yield Sample(0, make(low=0.2))


@samples("xlogy.Scalar_Other")
def times_logarithm_of_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2.5)
    yield Sample(make(), 1)


@samples("dist.default")
def distances(make: Maker) -> Iterator[Sample]:
    for p in (0.5, 1, 1.5, 2, 3, float("inf")):
        yield Sample(make(3, 4), make(4), p)
    yield Sample(make(), make())
    yield Sample(make.noncontiguous(2, 3), make(2, 3))
    yield Sample(make(2, dtype=torch.complex128), make(2, dtype=torch.complex128))
    yield Sample(make(3), make(3), 0, grad=False)
