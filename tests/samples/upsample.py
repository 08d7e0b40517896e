"""Samples of the ops in retrograd/ops/nn/upsample.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("upsample_nearest1d.default", "_upsample_nearest_exact1d.default")
def nearest_1d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3), (5,))


@samples("upsample_nearest1d_backward.default", "_upsample_nearest_exact1d_backward.default")
def nearest_1d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 5), (5,), (1, 2, 3))


@samples("upsample_nearest1d.vec", "_upsample_nearest_exact1d.vec")
def nearest_1d_scaled(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3), (5,), None)
    yield Sample(make(1, 2, 3), None, (2.0,))


@samples("upsample_linear1d.default")
def linear_1d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3), (5,), False)
    yield Sample(make(1, 2, 3), (5,), True)


@samples("upsample_linear1d_backward.default")
def linear_1d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 5), (5,), (1, 2, 3), True)


@samples("upsample_linear1d.vec")
def linear_1d_scaled(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3), None, False, (2.0,))


@samples("upsample_nearest2d.default", "_upsample_nearest_exact2d.default")
def nearest_2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), (5, 6))
    yield Sample(make.channels_last(1, 2, 3, 4), (5, 6), note="channels last")


@samples("upsample_nearest2d_backward.default", "_upsample_nearest_exact2d_backward.default")
def nearest_2d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 5, 6), (5, 6), (1, 2, 3, 4))


@samples("upsample_nearest2d.vec", "_upsample_nearest_exact2d.vec")
def nearest_2d_scaled(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), (5, 6), None)
    yield Sample(make(1, 2, 3, 4), None, (2.0, 2.0))


@samples("upsample_bilinear2d.default", "upsample_bicubic2d.default")
def linear_2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), (5, 6), False)
    yield Sample(make(1, 2, 3, 4), (5, 6), True)


@samples("upsample_bilinear2d_backward.default", "upsample_bicubic2d_backward.default",
         "_upsample_bilinear2d_aa_backward.default", "_upsample_bicubic2d_aa_backward.default",
         "_upsample_lanczos2d_aa_backward.default")
def linear_2d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 5, 6), (5, 6), (1, 2, 3, 4), True)


@samples("upsample_bilinear2d.vec", "upsample_bicubic2d.vec", "_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec",
         "_upsample_lanczos2d_aa.vec")
def linear_2d_scaled(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), None, False, (2.0, 2.0))


@samples("_upsample_bilinear2d_aa.default", "_upsample_bicubic2d_aa.default", "_upsample_lanczos2d_aa.default")
def smoothed_2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 7, 6), (3, 4), False)
    yield Sample(make(1, 1, 3, 6), (5, 2), True)
    yield Sample(make(1, 1, 5, 4), (2, 8), False, 0.45, 2.0)


@samples("upsample_nearest3d.default", "_upsample_nearest_exact3d.default")
def nearest_3d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4, 2), (5, 6, 3))


@samples("upsample_nearest3d_backward.default", "_upsample_nearest_exact3d_backward.default")
def nearest_3d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 5, 6, 3), (5, 6, 3), (1, 2, 3, 4, 2))


@samples("upsample_nearest3d.vec", "_upsample_nearest_exact3d.vec")
def nearest_3d_scaled(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4, 2), (5, 6, 3), None)
    yield Sample(make(1, 2, 3, 4, 2), None, (2.0, 2.0, 2.0))


@samples("upsample_trilinear3d.default")
def linear_3d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4, 2), (5, 6, 3), False)
    yield Sample(make(1, 2, 3, 4, 2), (5, 6, 3), True)


@samples("upsample_trilinear3d_backward.default")
def linear_3d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 5, 6, 3), (5, 6, 3), (1, 2, 3, 4, 2), True)


@samples("upsample_trilinear3d.vec")
def linear_3d_scaled(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4, 2), None, False, (2.0, 2.0, 2.0))
