"""Samples of the ops in retrograd/ops/nn/conv.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("convolution.default")
def convolution(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 5), make(3, 2, 3), make(3), (1,), (0,), (1,), False, (0,), 1)
    yield Sample(make(2, 4, 5, 4), make(4, 2, 2, 3), None, (2, 1), (1, 0), (1, 1), False, (0, 0), 2, note="groups")
    yield Sample(make(1, 2, 5, 5), make(3, 2, 2, 2), make(3), (1, 1), (0, 0), (2, 2), False, (0, 0), 1, note="dilation")
    yield Sample(make(2, 3, 3), make(3, 2, 3), make(2), (2,), (1,), (1,), True, (1,), 1, note="transposed")


@samples("_convolution.default")
def convolution_of_backends(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 5), make(3, 2, 3), make(3), (1,), (0,), (1,), False, (0,), 1, False, False, True, True)


@samples("_convolution.deprecated")
def older_convolution_of_backends(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 3), make(3, 2, 3), make(2), (2,), (1,), (1,), True, (1,), 1, False, False, True)


@samples("convolution_backward.default")
def convolution_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 3), make(2, 2, 5), make(3, 2, 3), (3,), (1,), (0,), (1,), False, (0,), 1, (True, True, True))
    yield Sample(make(1, 3, 3, 3), make(1, 2, 4, 4), make(3, 2, 2, 2), (3,), (1, 1), (0, 0), (1, 1), False, (0, 0), 1,
                 (True, True, True))


@samples("conv1d.default")
def conv1d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 6), make(3, 2, 3), make(3))
    yield Sample(make(2, 6), make(3, 2, 3), stride=2, padding=1, note="no batch")


@samples("conv1d.padding")
def conv1d_padding(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 6), make(3, 2, 3), make(3), padding="same")
    yield Sample(make(2, 2, 6), make(3, 2, 2), padding="valid")


@samples("conv2d.default")
def conv2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 4, 5), make(3, 2, 3, 2), make(3))
    yield Sample(make(1, 4, 4, 4), make(4, 1, 2, 2), stride=(2, 1), padding=1, groups=4, note="depthwise")
    yield Sample(make.channels_last(1, 2, 4, 4), make(3, 2, 2, 2), note="channels last")
    yield Sample(make(2, 2, 3, dtype=torch.complex128), make(3, 2, 2, 2, dtype=torch.complex128),
                 make(3, dtype=torch.complex128), padding=1, note="complex, one image")


@samples("conv2d.padding")
def conv2d_padding(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 4, 5), make(3, 2, 3, 2), make(3), padding="same")


@samples("conv3d.default")
def conv3d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4, 3), make(2, 2, 2, 2, 2), make(2))


@samples("conv3d.padding")
def conv3d_padding(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 3, 3), make(2, 2, 3, 2, 2), padding="same")


@samples("conv_transpose1d.default")
def conv_transpose1d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(3, 2, 3), make(2), 2, 1, 1)


@samples("conv_transpose2d.input")
def conv_transpose2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 3), make(2, 2, 2, 3), make(2), (2, 1))


@samples("conv_transpose3d.input")
def conv_transpose3d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 2, 2, 3), make(2, 1, 2, 2, 2))
