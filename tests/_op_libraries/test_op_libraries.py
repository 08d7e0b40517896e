"""Ops of compiled libraries in Python, against numbers of these libraries."""
from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import retrograd as torch
from tests.test_as_torch import run_installed

for name in ("torchaudio", "torchvision"):
    importlib.import_module(f"retrograd._op_libraries.{name}")
vision, audio = torch.ops.torchvision, torch.ops.torchaudio


@pytest.mark.parametrize(("threshold", "kept"), [(0.0, [1, 4, 5]), (0.3, [1, 4, 5]), (0.5, [1, 0, 4, 5, 3]),
                                                 (0.9, [1, 0, 2, 4, 5, 3])])
def test_nms_keeps_boxes_by_score(threshold: float, kept: list[int]) -> None:
    boxes = torch.tensor([[0.0, 0, 4, 4], [1, 1, 5, 5], [0, 0, 4, 4.5], [10, 10, 12, 12], [10, 10, 12, 11], [3, 3, 3, 3]])
    scores = torch.tensor([0.5, 0.9, 0.5, 0.1, 0.4, 0.3])
    assert vision.nms(boxes, scores, threshold).tolist() == kept
    assert vision.nms(boxes[:0], scores[:0], threshold).tolist() == []
    with pytest.raises(RuntimeError, match="same number of elements in dimension 0, got 6 and 2"):
        vision.nms(boxes, scores[:2], threshold)


def regions(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    images = (torch.arange(48.0, dtype=dtype).reshape(2, 1, 4, 6) * 7 % 11).requires_grad_()
    return images, torch.tensor([[0.0, -1, 0.5, 4, 3], [1, 2, 1, 8, 9], [1, 3, 3, 3, 3]], dtype=dtype)


@pytest.mark.parametrize(("ratio", "aligned", "expected", "gradient"), [
    (2, True, [3.3452, 4.2344, 8.125, 4.0029, 3.8906, 4.7734, 1.6406, 3.3281, 3.5, 3.5, 3.5, 3.5],
     [0.605, 0.646, 0.6973, 0.0205, 0, 0, 2.3047, 1.8096, 1.8926, 0.0557, 0, 0, 0.7778, 0.5757, 0.5977, 0.0176]),
    (-1, False, [6.8452, 3.9844, 6.125, 6.6748, 3.9792, 5.0556, 0, 0, 4.5, 8, 3.5, 7],
     [0.105, 0.1147, 0.166, 0.083, 0, 0, 1.0078, 1.0127, 1.3613, 0.6807, 0, 0, 1.5747, 1.4038, 1.6602, 0.8301]),
    (-1, True, [3.3452, 4.2344, 8.125, 4.0029, 4.1389, 4.8542, 1.0556, 2.2361, 0, 0, 0, 0],
     [0.605, 0.646, 0.6973, 0.0205, 0, 0, 2.3047, 1.8096, 1.8926, 0.0557, 0, 0, 0.7778, 0.5757, 0.5977, 0.0176]),
])
def test_roi_align_pools_interpolated_values(ratio: int, aligned: bool, expected: list[float], gradient: list[float]) -> None:
    images, rois = regions()
    pooled = vision.roi_align(images, rois, 0.75, 2, 2, ratio, aligned)
    torch.testing.assert_close(pooled.flatten(), torch.tensor(expected), atol=6e-5, rtol=0)
    (pooled * torch.arange(1.0, 13).view_as(pooled)).sum().backward()
    assert images.grad is not None
    torch.testing.assert_close(images.grad.flatten()[:16], torch.tensor(gradient), atol=6e-5, rtol=0)


def test_roi_pool_gives_gradients_to_the_largest_values() -> None:
    images, rois = regions()
    pooled, where = vision.roi_pool(images, rois, 0.75, 2, 2)
    assert pooled.flatten().tolist() == [9, 10, 9, 10, 9, 10, 0, 0, 2, 2, 2, 2]
    assert where.dtype is torch.int32 and where.flatten().tolist() == [6, 3, 6, 14, 15, 23, -1, -1, 14, 14, 14, 14]
    (pooled * torch.arange(1.0, 13).view_as(pooled)).sum().backward()
    assert images.grad is not None
    found = images.grad.flatten()
    assert {i: found[i].item() for i in found.nonzero().flatten().tolist()} == {3: 2, 6: 4, 14: 4, 38: 42, 39: 5, 47: 6}


@pytest.mark.parametrize("op", ["roi_align", "roi_pool"])
def test_pooling_has_the_derivative_of_its_differences(op: str) -> None:
    images, rois = regions(torch.float64)
    settings = (2, True) if op == "roi_align" else ()

    def pooled(x: torch.Tensor) -> torch.Tensor:
        made = getattr(vision, op)(x, rois, 0.75, 2, 2, *settings)
        return made[0] if isinstance(made, tuple) else made
    assert torch.autograd.gradcheck(pooled, images)


def test_deform_conv2d_and_its_gradients() -> None:
    offset = (torch.arange(144.0).reshape(2, 8, 3, 3) * 5 % 7 / 4 - 0.8).requires_grad_()
    mask = (torch.arange(72.0).reshape(2, 4, 3, 3) * 3 % 5 / 5).requires_grad_()
    weight = (torch.arange(8.0).reshape(2, 1, 2, 2) / 4).requires_grad_()
    images = (torch.arange(64.0).reshape(2, 2, 4, 4) * 3 % 7).requires_grad_()
    bias = torch.tensor([0.5, -0.5], requires_grad=True)
    made = vision.deform_conv2d(images, weight, offset, mask, bias, 1, 1, 0, 0, 1, 1, 2, 1, True)
    torch.testing.assert_close(made.flatten()[:9], torch.tensor(
        [2.067, 2.82, 1.1555, 0.962, 3.2363, 1.975, 1.552, 1.538, 1.27]), atol=6e-5, rtol=0)
    found = torch.autograd.grad(made.square().sum(), [images, weight, offset, mask, bias])
    torch.testing.assert_close(torch.stack([g.sum() for g in found]),
                               torch.tensor([432.741, 1242.341, -209.794, 3140.925, 262.85]), atol=2e-3, rtol=0)


def test_ops_without_a_python_form_say_so() -> None:
    with pytest.raises(NotImplementedError, match="Could not run 'torchvision::ps_roi_pool'"):
        vision.ps_roi_pool(torch.ones(1, 4, 2, 2), torch.ones(1, 5), 1.0, 2, 2)


def test_lfilter_writes_each_output_from_those_before() -> None:
    out = torch.zeros(1, 2, 6)
    inputs, weights = torch.arange(10.0).reshape(1, 2, 5), torch.tensor([[0.25, -0.5], [0.5, 0.125]])
    assert audio._lfilter_core_loop(inputs, weights, out) is out
    expected = [[0.0] * 6, [0.0] * 6]
    for channel, (far, near) in enumerate(weights.tolist()):
        for step in range(5):
            before = expected[channel]
            before[step + 1] = inputs[0, channel, step].item() - far * before[step] - near * before[step + 1]
    torch.testing.assert_close(out, torch.tensor([expected]))


def test_overdrive_keeps_its_state_in_its_arguments() -> None:
    wave, bent, out = torch.ones(2, 3), torch.arange(6.0).reshape(2, 3) / 5, torch.zeros(2, 3)
    before, after = torch.tensor([0.1, 0.2]), torch.tensor([0.3, 0.4])
    audio._overdrive_core_loop(wave, bent, before, after, out)
    torch.testing.assert_close(out, torch.tensor([[0.648875, 0.7981306, 0.94664], [1.0985, 1.2455075, 1.3917799]]))
    assert torch.equal(before, bent[:, 2])
    torch.testing.assert_close(after, torch.tensor([0.59552, 1.18904]))


def test_load_library_declares_known_libraries_and_refuses_others(tmp_path: Path) -> None:
    for place in ("torchvision/_C.so", "lib/_torchaudio.abi3.so", "lib/libtorchaudio.so", "torchvision/image.so"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).touch()
    run_installed(
        f"import torch, pathlib\nhere = pathlib.Path({str(tmp_path)!r})\n"
        "for place in ('torchvision/_C.so', 'lib/_torchaudio.abi3.so', 'lib/libtorchaudio.so'):\n"
        "    torch.ops.load_library(here / place)\n"
        "    torch.ops.load_library(str(here / place))\n"
        "assert torch.ops.torchvision._cuda_version() == -1 and torch.ops._torchaudio.cuda_version() is None\n"
        "assert torch.ops._torchaudio.is_align_available() is False and torch.ops.torchvision.nms.default\n"
        "for place in ('torchvision/image.so', 'elsewhere/torchvision/_C.so'):\n"
        "    try:\n"
        "        torch.ops.load_library(here / place)\n"
        "    except OSError as error:\n"
        "        assert 'Could not load this library' in str(error)\n"
        "    else:\n"
        "        raise AssertionError(place)")
