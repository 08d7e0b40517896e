"""Samples of the ops in retrograd/ops/lists/foreach.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from retrograd.ops.lists.foreach_unary import ROWS
from tests.samples import Maker, Sample, samples


@samples(*[f"_foreach_{name}.default" for name in sorted([str(row.name) for row in ROWS])],
         "_foreach_max.default", "_foreach_norm.Scalar",
         "_foreach_clone.default", "_foreach_powsum.Scalar")
def unary(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3, low=0.1, high=0.9), make(3, low=0.1, high=0.9)])


@samples("_foreach_mm.default")
def matrix_products(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(1, 2)], [make(3, 2), make(2, 2)])


@samples("_foreach_zero.default")
def zero(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(3)], grad=False)


@samples("_foreach_copy.default")
def copy(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(3)], [make(2, 3), make(3)])


BINARY = ("add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum", "pow")


@samples(*[f"_foreach_{name}.Scalar" for name in BINARY])
def with_scalar(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3, low=0.5, high=2.0), make(3, low=0.5, high=2.0)], 1.5)


@samples(*[f"_foreach_{name}.ScalarList" for name in BINARY])
def with_scalars(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3, low=0.5, high=2.0), make(3, low=0.5, high=2.0)], [1.5, 2])


@samples(*[f"_foreach_{name}.List" for name in BINARY])
def with_list(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3, low=0.5, high=2.0)], [make(2, 3, low=0.5, high=2.0)])


@samples("_foreach_add.Tensor", "_foreach_mul.Tensor", "_foreach_div.Tensor")
def with_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(3)], make())


@samples("_foreach_pow.ScalarAndTensor")
def powers(make: Maker) -> Iterator[Sample]:
    yield Sample(2.0, [make(2, 3), make(3)])


@samples("_foreach_addcmul.Scalar", "_foreach_addcdiv.Scalar")
def products(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3)], [make(2, 3)], [make(2, 3)], 0.5)


@samples("_foreach_addcmul.ScalarList", "_foreach_addcdiv.ScalarList")
def products_with_scalars(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3)], [make(2, 3)], [make(2, 3)], [0.5])


@samples("_foreach_addcmul.Tensor", "_foreach_addcdiv.Tensor")
def products_with_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3)], [make(2, 3)], [make(2, 3)], torch.tensor([0.5], dtype=torch.float64))


@samples("_foreach_lerp.List")
def lerp(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3)], [make(2, 3)], [make(2, 3)])


@samples("_foreach_lerp.Scalar")
def lerp_scalar(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3)], [make(2, 3)], 0.3)


@samples("_foreach_lerp.ScalarList")
def lerp_scalars(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3)], [make(2, 3)], [0.3])
