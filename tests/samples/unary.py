"""Samples of the ops in retrograd/ops/elementwise/unary.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


def everywhere(make: Maker, low: float, high: float) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=low, high=high))
    yield Sample(make(low=low, high=high))
    yield Sample(make(0, 2))
    yield Sample(make.noncontiguous(2, 3, low=low, high=high))
    yield Sample(make(2, 3, low=low, high=high, order="F"))


def numbers(values: Any) -> Any:
    return new_tensor(np.array(values)).requires_grad_()


@samples("sin.default", "cos.default", "tan.default", "sinh.default", "cosh.default", "exp.default", "exp2.default",
         "expm1.default", "atan.default", "arctan.default", "asinh.default", "arcsinh.default", "sinc.default")
def entire(make: Maker) -> Iterator[Sample]:
    yield from everywhere(make, -1.4, 1.4)
    yield Sample(make(3, dtype=torch.complex128, low=-0.8, high=0.8))
    yield Sample(make.index(4, 3))


@samples("asin.default", "acos.default", "atanh.default", "atanh_.default", "asinh_.default", "arcsin.default",
         "arccos.default",
         "arctanh.default")
def within_the_unit_interval(make: Maker) -> Iterator[Sample]:
    yield from everywhere(make, -0.9, 0.9)
    yield Sample(make(3, dtype=torch.complex128, low=-0.8, high=0.8))


@samples("acosh.default", "acosh_.default", "arccosh.default")
def above_one(make: Maker) -> Iterator[Sample]:
    yield from everywhere(make, 1.1, 3.0)
    yield Sample(make(3, dtype=torch.complex128, low=1.1, high=2))


@samples("log.default", "log2.default", "log10.default", "log1p.default")
def logarithms(make: Maker) -> Iterator[Sample]:
    yield from everywhere(make, 0.2, 3.0)
    yield Sample(make(3, dtype=torch.complex128, low=0.2))
    yield Sample(make.index(4, 3, low=1))


@samples("lgamma.default", "digamma.default")
def gamma(make: Maker) -> Iterator[Sample]:
    yield from everywhere(make, 0.5, 4.0)


@samples("erf.default", "erfc.default", "i0.default", "special_i1.default", "erfinv.default", "deg2rad.default",
         "rad2deg.default")
def real_functions(make: Maker) -> Iterator[Sample]:
    yield from everywhere(make, 0.1, 0.9)
    yield from everywhere(make, -0.9, -0.1)


@samples("angle.default")
def angles(make: Maker) -> Iterator[Sample]:
    yield from everywhere(make, -2.0, 2.0)
    yield Sample(make(3, 2, dtype=torch.complex128))
    yield Sample(numbers([0.0, -1.0, np.nan]), grad=False)


@samples("polygamma.default")
def polygamma(make: Maker) -> Iterator[Sample]:
    for n in (0, 1, 2):
        yield Sample(n, make(3, low=0.5, high=3))
    yield Sample(1, make(low=0.5, high=3))


@samples("polygamma_.default")
def polygamma_inplace(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, low=0.5, high=3), 1)


@samples("logit.default")
def logit(make: Maker) -> Iterator[Sample]:
    yield from everywhere(make, 0.1, 0.9)
    yield Sample(make(6, low=0, high=1), 0.2)


@samples("logit_backward.default")
def logit_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3), make(3, low=0.1, high=0.9))
    yield Sample(make(3), make(3, low=-1, high=2), 0.2)


@samples("floor.default", "ceil.default", "round.default", "trunc.default", "fix.default", "frac.default")
def rounding(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=-4, high=4))
    yield Sample(make())
    yield Sample(make.noncontiguous(2, 3))
    yield Sample(numbers([0.5, 1.5, 2.5, -0.5]), grad=False, note="halves")


@samples("round.decimals")
def rounding_to_decimals(make: Maker) -> Iterator[Sample]:
    for decimals in (0, 2, -1):
        yield Sample(make(3, 4, low=-40, high=40), decimals=decimals)


@samples("nan_to_num.default")
def nan_to_num(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(2), nan=1.0, posinf=2.0, neginf=-2.0)
    yield Sample(numbers([np.nan, np.inf, -np.inf, 1.0]), posinf=3.0, neginf=-3.0, grad=False)
    yield Sample(make.index(3, 2))


@samples("isnan.default", "isinf.default", "isfinite.default", "isposinf.default", "isneginf.default", "isreal.default")
def kinds_of_numbers(make: Maker) -> Iterator[Sample]:
    yield Sample(numbers([np.nan, np.inf, -np.inf, 1.0]))
    yield Sample(make())
    yield Sample(make.index(3, 2, 2))
    yield Sample(make.mask(3))
