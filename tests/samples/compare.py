"""Samples of the ops in retrograd/ops/elementwise/compare.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
LONG_NAMES = ("not_equal", "less", "less_equal", "greater", "greater_equal")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")


@samples(*[f"{name}.Tensor" for name in (*COMPARISONS, *LONG_NAMES)])
def comparisons(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4))
    yield Sample(make.index(3, 2, 3), make.index(3, 2, 3))
    yield Sample(make(), make(2))
    yield Sample(make.noncontiguous(2, 3), make(2, 3, order="F"))
    yield Sample(new_tensor(np.array([np.nan, 1.0])), new_tensor(np.array([np.nan, 1.0])))


@samples(*[f"{name}.Scalar" for name in (*COMPARISONS, *LONG_NAMES)])
def comparisons_with_a_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.5)
    yield Sample(make.index(3, 2, 3), 1)
    yield Sample(make.index(3, 3), 1.5)


@samples(*[f"{name}_.Tensor" for name in COMPARISONS])
def comparisons_in_place(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(2, 3), make(3))


@samples(*[f"{name}_.Scalar" for name in COMPARISONS])
def comparisons_with_a_number_in_place(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.5)
    yield Sample(make.index(3, 3), 1)


@samples("isclose.default", "allclose.default")
def closeness(make: Maker) -> Iterator[Sample]:
    a = make(3, 4, requires_grad=False)
    yield Sample(a, a)
    yield Sample(a, make(3, 4, requires_grad=False), 0.5, 0.5)
    yield Sample(new_tensor(np.array([np.nan])), new_tensor(np.array([np.nan])), equal_nan=True)
    yield Sample(make.index(3, 4), make.index(3, 4))


@samples("equal.default")
def equality(make: Maker) -> Iterator[Sample]:
    a = make(3, requires_grad=False)
    yield Sample(a, a)
    yield Sample(a, make(4, requires_grad=False))


@samples("logical_and.default", "logical_or.default", "logical_xor.default")
def logic(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), make.mask(4))
    yield Sample(make.index(2, 3), make.index(2, 3))
    yield Sample(make(3), make.mask(3))


@samples("logical_not.default")
def negation(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4))
    yield Sample(make.index(2, 3))
    yield Sample(make(3))


@samples("bitwise_not.default")
def complement(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4))
    yield Sample(make.index(9, 3, low=-9))


@samples(*[f"{name}.Tensor" for name in BITS])
def bits(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), make.mask(4))
    yield Sample(make.index(9, 3, low=-9), make.index(9, 3))


@samples(*[f"{name}.Scalar" for name in BITS])
def bits_of_a_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make.mask(3, 4), True)
    yield Sample(make.index(9, 3, low=-9), 5)


@samples(*[f"{name}.Scalar_Tensor" for name in BITS], "bitwise_left_shift.Scalar_Tensor",
         "bitwise_right_shift.Scalar_Tensor")
def number_first(make: Maker) -> Iterator[Sample]:
    yield Sample(5, make.index(9, 3))
    yield Sample(-6, make.index(70, 4, low=-2))


@samples("bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor")
def shifts(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(9, 3, low=-9), make.index(4, 3))
    yield Sample(make.index(9, 2, 3, low=-9), make.index(70, 3, low=-2))


@samples("bitwise_left_shift.Tensor_Scalar", "bitwise_right_shift.Tensor_Scalar")
def shifts_by_a_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(9, 3, low=-9), 2)
    yield Sample(make.index(9, 3, low=-9), 64)
