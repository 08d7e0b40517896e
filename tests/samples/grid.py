"""Samples of the ops in retrograd/ops/nn/grid.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.samples import Maker, Sample, samples

IMAGE, VOLUME = (2, 2, 3, 4), (1, 2, 2, 3, 4)


def settings(modes: Any) -> Iterator[tuple[int, int, bool]]:
    """Every way of sampling, with both meanings of the corners between them."""
    for mode in modes:
        for padding in (0, 1, 2):
            yield mode, padding, (mode + padding) % 2 == 0
    yield 0, 2, False


@samples("grid_sampler.default", "grid_sampler_2d.default")
def images(make: Maker) -> Iterator[Sample]:
    for chosen in settings((0, 1, 2)):
        yield Sample(make(*IMAGE), make(2, 2, 3, 2, low=-1.7, high=1.7), *chosen)
    yield Sample(make(1, 2, 1, 4), make(1, 2, 2, 2, low=-0.9, high=0.9), 0, 2, True, note="height of one")
    yield Sample(make(2, 0, 3, 4), make(2, 2, 3, 2), 0, 0, False, note="no channels")
    yield Sample(make(0, 2, 3, 4), make(0, 2, 3, 2), 0, 0, False, note="no images")
    yield Sample(make.noncontiguous(*IMAGE), make.noncontiguous(2, 3, 1, 2, low=-1.2, high=1.2), 0, 0, True)


@samples("grid_sampler_3d.default")
def volumes(make: Maker) -> Iterator[Sample]:
    for chosen in settings((0, 1)):
        yield Sample(make(*VOLUME), make(1, 2, 1, 2, 3, low=-1.7, high=1.7), *chosen)


@samples("grid_sampler_2d_backward.default")
def images_backward(make: Maker) -> Iterator[Sample]:
    for chosen in settings((0, 1, 2)):
        yield Sample(make(2, 2, 2, 3), make(*IMAGE), make(2, 2, 3, 2, low=-1.7, high=1.7), *chosen, (True, True))
    yield Sample(make(2, 2, 2, 3), make(*IMAGE), make(2, 2, 3, 2, low=-1.2, high=1.2), 0, 0, False, (True, False))


@samples("grid_sampler_3d_backward.default")
def volumes_backward(make: Maker) -> Iterator[Sample]:
    for chosen in settings((0, 1)):
        yield Sample(make(1, 2, 2, 1, 2), make(*VOLUME), make(1, 2, 1, 2, 3, low=-1.7, high=1.7), *chosen, (True, True))


@samples("affine_grid_generator.default")
def affine(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 3), (2, 5, 3, 4), False)
    yield Sample(make(2, 2, 3), (2, 5, 3, 4), True)
    yield Sample(make(1, 3, 4), (1, 1, 2, 3, 1), False)
    yield Sample(make(1, 3, 4), (1, 1, 2, 3, 1), True)
    yield Sample(make(1, 2, 3), (1, 1, 0, 2), False, note="no pixels")


@samples("affine_grid_generator_backward.default")
def affine_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4, 2), (2, 5, 3, 4), False)
    yield Sample(make(1, 2, 3, 1, 3), (1, 1, 2, 3, 1), True)
