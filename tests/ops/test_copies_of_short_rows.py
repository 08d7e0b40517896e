"""Copies whose last dimension is short: elements that lie together are copied as one."""
from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch

DTYPES = [torch.bool, torch.int8, torch.float16, torch.float32, torch.float64, torch.complex128]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_short_rows_are_moved_whole(dtype: torch.dtype) -> None:
    for width in (1, 2, 3, 4, 8):
        x = (torch.arange(6000 * width) % 251).to(dtype).reshape(3000, 2, width)
        a = x.numpy()
        assert np.array_equal(torch.flip(x, (0,)).numpy(), a[::-1])
        assert np.array_equal(torch.roll(x, 7, 0).numpy(), np.roll(a, 7, 0))
        assert np.array_equal(x.transpose(0, 1).contiguous().numpy(), a.transpose(1, 0, 2))
        assert np.array_equal(x[::3].contiguous().numpy(), a[::3])
        assert np.array_equal(x.expand(2, 3000, 2, width).contiguous().numpy(), np.broadcast_to(a, (2, *a.shape)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_memory_that_begins_between_pairs_of_elements(dtype: torch.dtype) -> None:
    x = (torch.arange(9001) % 251).to(dtype)
    pairs = x[1:].reshape(4500, 2)
    assert np.array_equal(torch.flip(pairs, (0,)).numpy(), pairs.numpy()[::-1])
