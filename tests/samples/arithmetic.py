"""Samples of the ops in retrograd/ops/elementwise/arithmetic.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


@samples("add.Tensor", "sub.Tensor", "subtract.Tensor", "rsub.Tensor")
def linear_binary(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(make(), make(2, 3), alpha=2.5)
    yield Sample(make.noncontiguous(3, 4), make(3, 4, order="F"), alpha=-1)
    yield Sample(make(0, 3), make(3))
    yield Sample(make(2, 3, dtype=torch.complex128), make(3), alpha=2)
    yield Sample(make(2, 3, dtype=torch.complex128), make(3, dtype=torch.complex128), alpha=1 + 2j)


@samples("rsub.Scalar")
def reversed_difference(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2)
    yield Sample(make(), 1.5, 2)
    yield Sample(make.noncontiguous(3, 4), -1)
    yield Sample(make(2, dtype=torch.complex128), 1j)


@samples("mul.Tensor", "multiply.Tensor", "div.Tensor", "true_divide.Tensor", "divide.Tensor")
def product(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(make(), make(2, 3))
    yield Sample(make(2, 3), 2)
    yield Sample(make(2, 3), 2.5)
    yield Sample(make.noncontiguous(3, 4), make(3, 4, order="F"))
    yield Sample(make(0, 3), make(3))
    yield Sample(make(2, 3, dtype=torch.complex128), make(3, dtype=torch.complex128))
    yield Sample(make(2, 3), make(3, dtype=torch.complex128))


@samples("div.Tensor_mode", "divide.Tensor_mode")
def rounded_quotient(make: Maker) -> Iterator[Sample]:
    for mode in (None, "trunc", "floor"):
        yield Sample(make(3, 4), make(4), rounding_mode=mode)
        yield Sample(make.noncontiguous(2, 3), 2.5, rounding_mode=mode)
        yield Sample(make.index(9, 3, low=-9), make.index(4, 3, low=1), rounding_mode=mode)


@samples("neg.default", "negative.default", "reciprocal.default", "positive.default")
def negation(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make())
    yield Sample(make(0, 2))
    yield Sample(make.noncontiguous(2, 3))
    yield Sample(make(2, 3, order="F"))
    yield Sample(make(3, dtype=torch.complex128))


@samples("floor_divide.default", "remainder.Tensor", "fmod.Tensor")
def remainders(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(make(), make(2, 3))
    yield Sample(make.noncontiguous(3, 4), make(3, 4, order="F"))
    yield Sample(make.index(9, 3, low=-9), make.index(4, 3, low=1))


@samples("remainder.Scalar", "fmod.Scalar")
def remainder_by_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.7)
    yield Sample(make(), -2)
    yield Sample(make.index(9, 3, low=-9), 4)


@samples("remainder.Scalar_Tensor")
def remainder_of_number(make: Maker) -> Iterator[Sample]:
    yield Sample(3.5, make(3, 4))
    yield Sample(-7, make.index(5, 3, low=1))


@samples("maximum.default", "minimum.default", "fmax.default", "fmin.default")
def extremes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(make(), make(2, 3))
    yield Sample(make.noncontiguous(3, 4), make(3, 4, order="F"))
    ties = new_tensor(np.array([1.0, 2.0, np.nan])).requires_grad_()
    yield Sample(ties, new_tensor(np.array([1.0, 3.0, 1.0])), grad=False, note="tie and nan")


@samples("clamp.default", "clip.default")
def bounds(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), -0.5, 1)
    yield Sample(make(3, 4), min=0.3)
    yield Sample(make(), max=0.3)
    yield Sample(make.noncontiguous(3, 4), 1.0, -1.0)
    yield Sample(new_tensor(np.array([-1.0, 1.0, 2.0])).requires_grad_(), -1, 1, grad=False, note="at the bounds")
    yield Sample(make.index(9, 4, low=-9), 0, 3)


@samples("clamp.Tensor", "clip.Tensor")
def tensor_bounds(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4), make(3, 1))
    yield Sample(make(3, 4), min=make(3, 4))
    yield Sample(make(4), max=make(3, 4))
    yield Sample(make(), make(), make())


@samples("clamp_min.default", "clamp_max.default")
def one_bound(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.2)
    yield Sample(make(), 0)
    yield Sample(make.index(9, 4, low=-9), 2)


@samples("clamp_min.Tensor", "clamp_max.Tensor")
def one_tensor_bound(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4))
    yield Sample(make(3, 1), make(2, 1, 4))
    yield Sample(make.noncontiguous(2, 3), make())


@samples("lerp.Scalar")
def interpolation(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4), 0.3)
    yield Sample(make(), make(2), 0.8)
    yield Sample(make.noncontiguous(2, 3), make(2, 3), -2)
    yield Sample(make(3, dtype=torch.complex128), make(3, dtype=torch.complex128), 0.25)


@samples("lerp.Tensor")
def weighted_interpolation(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4), make(3, 1))
    yield Sample(make(), make(2), make())
    yield Sample(make.noncontiguous(2, 3), make(2, 3), make(2, 3, low=0, high=1))


@samples("addcmul.default", "addcdiv.default")
def three_operands(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4), make(3, 1))
    yield Sample(make(3, 4), make(3, 4), make(3, 4), value=2.5)
    yield Sample(make(), make(2), make(), value=-1)
    yield Sample(make(2, dtype=torch.complex128), make(2, dtype=torch.complex128), make(2), value=1j)
