"""Samples of the ops in retrograd/ops/memory/resize.py (see tests/ops/test_resize.py)."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import retrograd as torch
from tests.samples import Maker, Sample, samples


def plain(make: Maker, *shape: int, **kwargs: Any) -> Any:
    return make(*shape, requires_grad=False, **kwargs)


@samples("resize_.default")
def resize(make: Maker) -> Iterator[Sample]:
    yield Sample(plain(make, 2, 3), (3, 2))
    yield Sample(plain(make, 2, 3), (4,))
    yield Sample(plain(make, 2, 3), ())
    yield Sample(plain(make, 2, 3), (0, 3))
    yield Sample(plain(make, 1, 2, 2, 2), (1, 2, 2, 2), memory_format=torch.channels_last)


@samples("resize_as_.default")
def resize_as(make: Maker) -> Iterator[Sample]:
    yield Sample(plain(make, 2, 3), plain(make, 3, 2))
    yield Sample(plain(make, 2, 3), plain(make, 2))


@samples("set_.default")
def set_to_nothing(make: Maker) -> Iterator[Sample]:
    yield Sample(plain(make, 2, 3))


@samples("set_.source_Tensor")
def set_to_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(plain(make, 2, 3), plain(make, 4))
    yield Sample(plain(make, 2, 3), plain(make, 3, 2, order="F"))


@samples("set_.source_Tensor_storage_offset")
def set_to_part_of_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(plain(make, 2, 3), plain(make, 10), 1, (2, 2), (4, 1))
    yield Sample(plain(make, 2, 3), plain(make, 10), 2, (2, 4))


@samples("set_.source_Storage")
def set_to_storage(make: Maker) -> Iterator[Sample]:
    yield Sample(plain(make, 2, 3), plain(make, 4).untyped_storage())


@samples("set_.source_Storage_storage_offset")
def set_to_part_of_storage(make: Maker) -> Iterator[Sample]:
    yield Sample(plain(make, 2, 3), plain(make, 10).untyped_storage(), 1, (2, 2), (4, 1))
