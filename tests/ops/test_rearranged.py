"""Elements in other places and sequences in C against NumPy: padding, spectra of real numbers, steps."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.nn import functional as F

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16, torch.complex128, torch.uint8])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_padding_is_that_of_numpy(rank: int, mode: str, kind: Any) -> None:
    sizes = (3, 4, 5)[-rank:]
    x = torch.arange(6 * int(np.prod(sizes))).remainder(101).to(kind).reshape(2, 3, *sizes)
    for before, after in ((1, 2), (0, 1), (2, 0)):
        made = F.pad(x, (before, after) * rank, mode=mode)
        wanted: Any = np.pad(x.to(torch.complex128).numpy(), [(0, 0), (0, 0), *[(before, after)] * rank],
                             MODES[mode])  # type: ignore[call-overload]
        np.testing.assert_array_equal(made.to(torch.complex128).numpy(), wanted)
        assert made.dtype == kind and made.is_contiguous()


@pytest.mark.parametrize("mode", MODES)
def test_padding_of_other_orders_of_memory(mode: str) -> None:
    x = torch.arange(240.0).reshape(2, 3, 5, 8)
    wanted = F.pad(x, (1, 2, 3, 0), mode=mode)
    assert torch.equal(F.pad(x.transpose(2, 3).contiguous().transpose(2, 3), (1, 2, 3, 0), mode=mode), wanted)
    last = F.pad(x.contiguous(memory_format=torch.channels_last), (1, 2, 3, 0), mode=mode)
    assert torch.equal(last, wanted)


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16, 33, 200])
def test_spectra_of_real_numbers(n: int, kind: str) -> None:
    x = np.random.default_rng(n).standard_normal((3, 4, n)).astype(kind)
    for norm, source in itertools.product(("backward", "ortho", "forward"), (x, x[:, ::2], x[..., ::-1])):
        made = torch.fft.fft(torch.from_numpy(source.copy()), norm=norm).numpy()
        np.testing.assert_allclose(made, np.fft.fft(source, norm=norm), atol=2e-5 if kind == "f" else 1e-12)
    made = torch.fft.fft(torch.from_numpy(x)[:, :1].expand(3, 5, n)).numpy()
    np.testing.assert_allclose(made, np.fft.fft(np.repeat(x[:, :1], 5, 1)), atol=2e-5 if kind == "f" else 1e-12)
    view = torch.from_numpy(x).transpose(0, 1)
    assert torch.fft.fft(view).stride() == torch.fft.fft(view.to(torch.complex128)).stride()


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize(("first", "by"), [(0, 1), (-5, 0.5), (3, -2), (0.25, 1 / 1024), (0, 0.1), (1e9, 1), (16777200, 1.0)])
def test_steps_start_at_rounded_values(first: float, by: float, kind: Any) -> None:
    for count in (1, 7, 8, 15, 16, 17, 100, 40_001):
        made = torch.arange(first, first + by * (count - 0.5), by, dtype=kind).numpy()
        assert len(made) == count
        run, whole = (8, count // 16 * 16) if kind == torch.float32 else (4, count // 8 * 8)
        i = np.arange(count)
        single = np.float64(first) + i * np.float64(by)
        base = single[i // run * run].astype(made.dtype).astype(np.longdouble)
        runs = (base + (i % run) * np.longdouble(by)).astype(np.float64)
        wanted = np.where(i < whole, runs, single).astype(made.dtype)
        np.testing.assert_allclose(made, wanted, rtol=0 if by != 0.1 else 1e-6)
