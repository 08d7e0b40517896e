"""Windows of torch.signal: values recorded from PyTorch."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.signal import windows

SYMMETRIC = {
    "bartlett": [0, 0.5, 1, 0.5, 0], "blackman": [0, 0.34, 1, 0.34, 0],
    "cosine": [0.309017, 0.809017, 1, 0.809017, 0.309017],
    "exponential": [0.1353353, 0.3678794, 1, 0.3678794, 0.1353353],
    "gaussian": [0.1353353, 0.6065307, 1, 0.6065307, 0.1353353], "hamming": [0.08, 0.54, 1, 0.54, 0.08],
    "hann": [0, 0.5, 1, 0.5, 0], "kaiser": [5.277344e-05, 0.2156727, 1, 0.2156727, 5.277344e-05],
    "nuttall": [3.627967e-04, 0.2269824, 1, 0.2269824, 3.627967e-04],
}
PERIODIC = {
    "bartlett": [0, 1 / 3, 2 / 3, 1, 2 / 3, 1 / 3], "cosine": [0.2225209, 0.6234899, 0.9009688, 1, 0.9009688, 0.6234898],
    "exponential": [0.0497871, 0.1353353, 0.3678794, 1, 0.3678794, 0.1353353],
    "gaussian": [0.0111090, 0.1353353, 0.6065307, 1, 0.6065307, 0.1353353], "hann": [0, 0.25, 0.75, 1, 0.75, 0.25],
    "kaiser": [5.277344e-05, 0.0547594, 0.5188445, 1, 0.5188445, 0.0547594],
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_windows_are_pytorchs(name: str) -> None:
    torch.testing.assert_close(getattr(windows, name)(5), torch.tensor(SYMMETRIC[name], dtype=torch.float32), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", PERIODIC)
def test_periodic_windows_are_pytorchs(name: str) -> None:
    made = getattr(windows, name)(6, sym=False)
    torch.testing.assert_close(made, torch.tensor(PERIODIC[name], dtype=torch.float32), atol=1e-6, rtol=0)


def test_short_windows_and_options() -> None:
    assert windows.hann(0).shape == (0,) and windows.hann(1).tolist() == [1]
    made = windows.kaiser(4, dtype=torch.float64, requires_grad=True)
    assert made.dtype is torch.float64 and made.requires_grad and made.is_leaf


@pytest.mark.parametrize(("call", "message"), [
    (lambda: windows.hann(-1), "requires non-negative window length, got M=-1"),
    (lambda: windows.hann(3, dtype=torch.int64), "expects float32 or float64 dtypes, got: torch.int64"),
    (lambda: windows.gaussian(3, std=0), "Standard deviation must be positive, got: 0 instead"),
    (lambda: windows.exponential(3, center=1.0), "Center must be None for symmetric windows"),
])
def test_wrong_arguments_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_blackman_speaks_of_itself_in_errors() -> None:
    with pytest.raises(ValueError, match="blackman requires non-negative window length, got M=-1"):
        windows.blackman(-1)
    with pytest.raises(ValueError, match="blackman expects float32 or float64 dtypes"):
        windows.blackman(3, dtype=torch.int64)


def test_windows_are_made_inside_of_transforms():
    made = torch.func.functionalize(lambda x: x * windows.hann(4))(torch.ones(4))
    assert torch.equal(made, windows.hann(4))
    assert torch.func.vmap(lambda x: x * windows.hann(4))(torch.ones(2, 4)).shape == (2, 4)
    assert windows.hann(4, requires_grad=True).requires_grad
