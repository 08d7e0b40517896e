"""Samples of the ops in retrograd/ops/views/complex.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("view_as_real.default", "view_as_real_copy.default")
def view_as_real(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=torch.complex128))
    yield Sample(make(dtype=torch.complex128))
    yield Sample(make(0, 3, dtype=torch.complex128), grad=False)
    yield Sample(make(3, 4, dtype=torch.complex128, order="F"))


@samples("_conj.default", "_conj_physical.default", "conj_physical.default")
def of_complex(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=torch.complex128))
    yield Sample(make(dtype=torch.complex128))
    yield Sample(make(0, 3, dtype=torch.complex128))
    yield Sample(make(3, 4, dtype=torch.complex128, order="F"))


@samples("conj_physical_.default")
def of_complex_in_place(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=torch.complex128))
    yield Sample(make(dtype=torch.complex128))
    yield Sample(make(3, 4, dtype=torch.complex128, order="F"))
    yield Sample(make(3, 4))


@samples("view_as_complex.default", "view_as_complex_copy.default")
def view_as_complex(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2))
    yield Sample(make(2))
    yield Sample(make(0, 2))


@samples("_neg_view.default", "_neg_view_copy.default", "_conj_copy.default")
def of_any(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make())


@samples("complex.default")
def complexes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(make(), make(2))


@samples("polar.default")
def polar(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.1), make(3, 4))
    yield Sample(make(3, 1, low=0.1), make(4))
