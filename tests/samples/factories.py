"""Samples of the ops in retrograd/ops/create/constants.py and ranges.py, of windows.py and resize.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("zeros.default", "ones.default", "empty.memory_format")
def sized(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3))
    yield Sample(())
    yield Sample((0, 2), dtype=torch.int64)


@samples("full.default")
def full(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3), 1.5)
    yield Sample((), 2)
    yield Sample((2,), True, dtype=torch.float64)


@samples("empty_strided.default")
def empty_strided(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3), (1, 2))


@samples("arange.default")
def arange(make: Maker) -> Iterator[Sample]:
    yield Sample(5)
    yield Sample(2.5)


@samples("arange.start")
def arange_start(make: Maker) -> Iterator[Sample]:
    yield Sample(1, 4)
    yield Sample(-0.3, 2.1, dtype=torch.float64)


@samples("arange.start_step")
def arange_step(make: Maker) -> Iterator[Sample]:
    yield Sample(1, 9, 2)
    yield Sample(5, 1, -1.5)


@samples("range.step")
def old_range(make: Maker) -> Iterator[Sample]:
    yield Sample(0, 3)
    yield Sample(1, 2, 0.25)


@samples("linspace.default", "logspace.default")
def spaced(make: Maker) -> Iterator[Sample]:
    yield Sample(0, 1, 5)
    yield Sample(2, -1, 1)
    yield Sample(0, 3, 4, dtype=torch.int64)


@samples("linspace.Tensor_Tensor", "logspace.Tensor_Tensor")
def spaced_tensors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(requires_grad=False), make(requires_grad=False), 5)


@samples("linspace.Tensor_Scalar", "logspace.Tensor_Scalar")
def spaced_from_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(requires_grad=False), 2.0, 5)


@samples("linspace.Scalar_Tensor", "logspace.Scalar_Tensor")
def spaced_to_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(0.0, make(requires_grad=False), 5)


@samples("eye.default")
def eye(make: Maker) -> Iterator[Sample]:
    yield Sample(3)
    yield Sample(0)


@samples("eye.m")
def eye_m(make: Maker) -> Iterator[Sample]:
    yield Sample(2, 3, dtype=torch.bool)


@samples("scalar_tensor.default")
def scalar_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(2.5)
    yield Sample(3, dtype=torch.int64)


@samples("zeros_like.default", "ones_like.default", "empty_like.default")
def like(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make(3, 2, order="F"))
    yield Sample(make(0, 2), dtype=torch.int64)


@samples("full_like.default")
def full_like(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 1.5)
    yield Sample(make(2, 3, order="F"), 2, dtype=torch.int64)


@samples("new_zeros.default", "new_ones.default", "new_empty.default")
def new(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2), (3, 4))
    yield Sample(make(2), (), dtype=torch.int64)


@samples("new_full.default")
def new_full(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2), (3, 4), 2.5)


@samples("new_empty_strided.default")
def new_empty_strided(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2), (3, 4), (1, 3))


@samples("fill.Scalar", "fill_.Scalar")
def fill_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 1.5)
    yield Sample(make(3, 2, order="F"), 2)


@samples("fill.Tensor", "fill_.Tensor")
def fill_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make())


@samples("zero_.default")
def zero(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make(0))


@samples("hann_window.default", "bartlett_window.default", "blackman_window.default", "hamming_window.default",
         "kaiser_window.default")
def windows(make: Maker) -> Iterator[Sample]:
    yield Sample(7)
    yield Sample(1)


@samples("hann_window.periodic", "bartlett_window.periodic", "blackman_window.periodic", "hamming_window.periodic",
         "kaiser_window.periodic")
def periodic_windows(make: Maker) -> Iterator[Sample]:
    yield Sample(6, False)


@samples("hamming_window.periodic_alpha", "kaiser_window.beta")
def window_parameter(make: Maker) -> Iterator[Sample]:
    yield Sample(6, True, 0.6)


@samples("hamming_window.periodic_alpha_beta")
def window_parameters(make: Maker) -> Iterator[Sample]:
    yield Sample(6, True, 0.6, 0.3)


@samples("vander.default")
def vander(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3))
    yield Sample(make(3), 5, True)


@samples("empty_permuted.default")
def empty_permuted(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3, 4), (2, 0, 1))
