"""Images of bytes are resized with the rounding of PyTorch, whose weights have 16 bits."""
from __future__ import annotations

import pytest

import retrograd as torch

# mode, antialias, align_corners, size -> the sum of the result's values, each times its place, as PyTorch computes it
SUMS = {
    ("bilinear", True, False, (16, 15)): 14764682,
    ("bicubic", True, False, (13, 30)): 38966627,
    ("bilinear", False, True, (7, 31)): 11972340,
    ("bicubic", False, False, (33, 11)): 33220677,
}


@pytest.mark.parametrize("mode, antialias, align_corners, size", SUMS)
def test_bytes_are_rounded_after_each_dimension(mode: str, antialias: bool, align_corners: bool, size: tuple[int, int]) -> None:
    i = torch.arange(2 * 20 * 24)
    image = ((i * i * 31 + i * 17) % 256).to(torch.uint8).reshape(1, 2, 20, 24)
    made = torch.nn.functional.interpolate(image, size, mode=mode, antialias=antialias, align_corners=align_corners)
    flat = made.flatten().long()
    assert int((flat * torch.arange(len(flat))).sum()) == SUMS[mode, antialias, align_corners, size]


def test_size_that_stays_keeps_the_bytes() -> None:
    image = torch.arange(48, dtype=torch.uint8).reshape(1, 1, 6, 8)
    for mode in ("bilinear", "bicubic"):
        assert torch.equal(torch.nn.functional.interpolate(image, (6, 8), mode=mode, antialias=True), image)
