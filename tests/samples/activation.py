"""Samples of the ops in retrograd/ops/nn/activation.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


def plain(make: Maker, *args: Any) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=-4, high=4), *args)
    yield Sample(make(), *args)
    yield Sample(make(0, 2), *args)
    yield Sample(make.noncontiguous(2, 3), *args)
    yield Sample(make(2, 3, order="F"), *args)


def with_gradient(make: Maker, *args: Any) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, low=-4, high=4), *args)
    yield Sample(make(), make(), *args)
    yield Sample(make(2, 3), make(2, 3, order="F"), *args)


@samples("sigmoid.default", "tanh.default", "relu.default", "selu.default", "silu.default", "mish.default", "relu6.default",
         "hardsigmoid.default", "hardswish.default", "log_sigmoid.default", "log_sigmoid_forward.default")
def without_parameters(make: Maker) -> Iterator[Sample]:
    yield from plain(make)
    yield Sample(new_tensor(np.array([0.0, -3.0, 3.0, 6.0, -0.0])).requires_grad_(), grad=False, note="corners")


@samples("silu_backward.default", "mish_backward.default",
         "hardsigmoid_backward.default", "hardswish_backward.default")
def backward_without_parameters(make: Maker) -> Iterator[Sample]:
    yield from with_gradient(make)


@samples("sigmoid_backward.default", "tanh_backward.default")
def backward_of_complex_results(make: Maker) -> Iterator[Sample]:
    yield from with_gradient(make)
    yield Sample(make(3, dtype=torch.complex128), make(3, dtype=torch.complex128))


@samples("log_sigmoid_backward.default")
def log_sigmoid_backward(make: Maker) -> Iterator[Sample]:
    x = make(3, 4)
    yield Sample(make(3, 4), x, (-x.detach().abs()).exp(), grad=False, note="buffer is a function of self")
    yield Sample(make(3, 4), x.detach(), (-x.detach().abs()).exp())


@samples("threshold.default", "threshold_.default")
def threshold(make: Maker) -> Iterator[Sample]:
    yield from plain(make, 0.3, 2.0)
    yield Sample(make.index(9, 4), 3, 1)


@samples("threshold_backward.default")
def threshold_backward(make: Maker) -> Iterator[Sample]:
    yield from with_gradient(make, 0.3)


@samples("leaky_relu.default", "leaky_relu_.default", "celu.default", "celu_.default", "hardshrink.default",
         "softshrink.default")
def one_parameter(make: Maker) -> Iterator[Sample]:
    yield from plain(make)
    yield from plain(make, 0.7)


@samples("leaky_relu_backward.default")
def leaky_relu_backward(make: Maker) -> Iterator[Sample]:
    yield from with_gradient(make, 0.2, False)
    yield from with_gradient(make, 0.2, True)


@samples("hardshrink_backward.default", "softshrink_backward.default")
def shrink_backward(make: Maker) -> Iterator[Sample]:
    yield from with_gradient(make, 0.7)


@samples("elu.default", "elu_.default")
def elu(make: Maker) -> Iterator[Sample]:
    yield from plain(make)
    yield from plain(make, 1.5, 2, 0.5)


@samples("elu_backward.default")
def elu_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1.5, 2, 0.5, False, make(3, 4))
    yield Sample(make(3, 4), 1.5, 2, 0.5, True, make(3, 4))


@samples("gelu.default")
def gelu(make: Maker) -> Iterator[Sample]:
    yield from plain(make)
    yield Sample(make(3, 4), approximate="tanh")


@samples("gelu_backward.default")
def gelu_backward(make: Maker) -> Iterator[Sample]:
    yield from with_gradient(make)
    yield Sample(make(3, 4), make(3, 4), approximate="tanh")


@samples("softplus.default")
def softplus(make: Maker) -> Iterator[Sample]:
    yield from plain(make)
    yield from plain(make, 2, 1)


@samples("softplus_backward.default")
def softplus_backward(make: Maker) -> Iterator[Sample]:
    yield from with_gradient(make, 1, 20)
    yield from with_gradient(make, 2, 20)


@samples("hardtanh.default")
def hardtanh(make: Maker) -> Iterator[Sample]:
    yield from plain(make)
    yield from plain(make, -0.5, 1.5)


@samples("hardtanh_backward.default")
def hardtanh_backward(make: Maker) -> Iterator[Sample]:
    yield from with_gradient(make, -0.5, 1.5)
