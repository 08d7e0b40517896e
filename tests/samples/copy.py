"""Samples of the ops in retrograd/ops/memory/copy.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("clone.default")
def clones(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make())
    yield Sample(make(0, 3))
    yield Sample(make.noncontiguous(3, 4))
    yield Sample(make(3, 4, order="F"))
    yield Sample(make(3, 4, order="F"), memory_format=torch.contiguous_format)
    yield Sample(make(3, dtype=torch.complex128))


@samples("alias.default", "detach.default", "detach_copy.default")
def aliases(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make())
    yield Sample(make(0, 3))
    yield Sample(make.noncontiguous(3, 4))
    yield Sample(make(3, dtype=torch.complex128))


@samples("_to_copy.default")
def to_copies(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make(2, 3), dtype=torch.float32)
    yield Sample(make(2, 3), dtype=torch.complex128)
    yield Sample(make(2, 3), dtype=torch.int64, grad=False)
    yield Sample(make(3, dtype=torch.complex128), dtype=torch.complex64)
    yield Sample(make.noncontiguous(3, 4), memory_format=torch.contiguous_format)
    yield Sample(make(3, 4, order="F"))
    yield Sample(make.index(5, 3), dtype=torch.float64)


@samples("copy_.default")
def copies(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3))
    yield Sample(make(2, 3), make(3))
    yield Sample(make(2, 3), make())
    yield Sample(make(0, 3), make(3))
    yield Sample(make.noncontiguous(3, 4), make(3, 4, order="F"))
    yield Sample(make(2, 3), make(2, 3, dtype=torch.float32))
    yield Sample(make(3, dtype=torch.complex128), make(3))
    yield Sample(make(2, 3), make.index(5, 2, 3))


@samples("_local_scalar_dense.default")
def numbers(make: Maker) -> Iterator[Sample]:
    yield Sample(make())
    yield Sample(make(1, 1, dtype=torch.complex128))
    yield Sample(make.index(5, 1))
