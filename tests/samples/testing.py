"""Samples of the ops in retrograd/ops/shared/testing.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("_test_autograd_multiple_dispatch.fullcoverage", "_test_autograd_multiple_dispatch_view.default",
         "_test_autograd_multiple_dispatch_view_copy.default", "_test_warn_in_autograd.default", "_foobar.default")
def of_one(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), grad=False)


@samples("_test_autograd_multiple_dispatch.ntonly")
def with_flag(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), True, grad=False)


@samples("_test_functorch_fallback.default")
def of_two(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), grad=False)
