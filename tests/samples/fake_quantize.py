"""Samples of the ops in retrograd/ops/nn/fake_quantize.py.

Their gradients are those of what they compute only where no level is near enough, or where they are switched off.
"""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("fake_quantize_per_tensor_affine.default", "fake_quantize_per_tensor_affine_cachemask.default")
def per_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.25, 3, 0, 7, grad=False)
    yield Sample(torch.tensor([-1.2, 0.05, 0.35, 9.0, float("nan"), float("inf")], dtype=make.dtype), 0.1, 0, -8, 7, grad=False,
                 note="ties and none")
    yield Sample(make(0, 2), 0.5, 0, -8, 7, grad=False, note="empty")
    yield Sample(make(2, 3, low=5.0, high=9.0), 0.5, 0, -8, 7, note="too large")


@samples("fake_quantize_per_tensor_affine.tensor_qparams")
def per_tensor_of_tensors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), torch.tensor(0.25), torch.tensor(3, dtype=torch.int32), 0, 7, grad=False)
    yield Sample(make(2, low=5.0, high=9.0), torch.tensor(0.25), torch.tensor(3), 0, 7, note="too large")


@samples("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default")
def per_tensor_that_may_be_off(make: Maker) -> Iterator[Sample]:
    scale, zero_point = torch.tensor([0.25]), torch.tensor([3], dtype=torch.int32)
    for on in (1, 0):
        yield Sample(make(3, 4), scale, zero_point, torch.tensor([on]), 0, 7, grad=not on, note="on" if on else "off")


@samples("fake_quantize_per_channel_affine.default", "fake_quantize_per_channel_affine_cachemask.default")
def per_channel(make: Maker) -> Iterator[Sample]:
    scale = torch.tensor([0.25, 0.5, 0.1])
    yield Sample(make(3, 4), scale, torch.tensor([0, 3, -2], dtype=torch.int32), 0, -8, 7, grad=False)
    yield Sample(make(2, 3, 2), scale, torch.tensor([0.0, 1.3, 2.5]), 1, 0, 15, grad=False, note="zero points between levels")
    yield Sample(make(3, 2, low=5.0, high=9.0), scale, torch.zeros(3), 0, -8, 7, note="too large")


@samples("fake_quantize_per_tensor_affine_cachemask_backward.default",
         "fake_quantize_per_channel_affine_cachemask_backward.default")
def backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make.mask(2, 3))


@samples("_fake_quantize_learnable_per_tensor_affine.default")
def learnable_per_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(1, low=0.2, high=0.4), make(1, low=2.0, high=3.0), 0, 7, 0.5, grad=False)
    yield Sample(make(2, low=5.0, high=9.0), torch.tensor([0.25]), torch.tensor([3.0]), 0, 7, note="too large")


@samples("_fake_quantize_learnable_per_channel_affine.default")
def learnable_per_channel(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, low=0.2, high=0.4, dtype=torch.float32),
                 make(3, low=2.0, high=3.0, dtype=torch.float32), 0, 0, 7, 0.5, grad=False)
    yield Sample(make(2, low=5.0, high=9.0), torch.full((2,), 0.25), torch.full((2,), 3.0), 0, 0, 7, note="too large")
