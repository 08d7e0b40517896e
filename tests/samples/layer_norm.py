"""Samples of the ops in retrograd/ops/nn/layer_norm.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


@samples("native_layer_norm.default")
def native_layer_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (4,), make(4), make(4), 1e-5)
    yield Sample(make(2, 3, 4), (3, 4), None, None, 1e-5)


@samples("native_layer_norm_backward.default")
def native_layer_norm_backward(make: Maker) -> Iterator[Sample]:
    input = make(3, 4, requires_grad=False)     # its mean and deviation would have to move with it
    mean = new_tensor(input.array.mean(1, keepdims=True))
    rstd = new_tensor(1 / np.sqrt(input.array.var(1, keepdims=True) + 1e-5))
    yield Sample(make(3, 4), input, (4,), mean, rstd, make(4), make(4), (True, True, True))


@samples("layer_norm.default")
def layer_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (4,), make(4), make(4))
    yield Sample(make(2, 3, 4), (3, 4), eps=1e-3)


@samples("native_group_norm.default")
def native_group_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), make(4), make(4), 2, 4, 3, 2, 1e-5)


@samples("native_group_norm_backward.default")
def native_group_norm_backward(make: Maker) -> Iterator[Sample]:
    input = make(2, 4, 3, requires_grad=False)
    groups = input.array.reshape(2, 2, 6)
    mean, rstd = new_tensor(groups.mean(2)), new_tensor(1 / np.sqrt(groups.var(2) + 1e-5))
    yield Sample(make(2, 4, 3), input, mean, rstd, make(4), 2, 4, 3, 2, (True, True, True))


@samples("group_norm.default")
def group_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), 2, make(4), make(4))
    yield Sample(make(2, 4), 4, eps=1e-3)


@samples("rms_norm.default")
def rms_norm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (4,), make(4))
    yield Sample(make(2, 3, 4), (3, 4), eps=1e-3)
