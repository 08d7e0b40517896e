"""make_tensor draws PyTorch's values from the interval that is asked for, within what the dtype holds."""
from __future__ import annotations

import math

import pytest

import retrograd as torch
from retrograd.testing import make_tensor

INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


def drawn(dtype, count=5, **bounds):
    torch.manual_seed(3)
    return make_tensor(count, dtype=dtype, device="cpu", **bounds).tolist()


@pytest.mark.parametrize("dtype", (torch.uint8, *INTEGERS), ids=str)
def test_fractional_bounds_of_integers_round_up(dtype) -> None:
    assert drawn(dtype, low=1.5, high=4.5) == [3, 4, 3, 2, 3]
    assert drawn(dtype, low=0.5) == [5, 6, 2, 4, 2]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_negative_fractional_bounds_of_integers_round_up(dtype) -> None:
    assert drawn(dtype, low=-3.5, high=-1.2) == [-3, -3, -2, -2, -3]


def test_fractional_bounds_of_truth_values_round_up() -> None:
    assert drawn(torch.bool, low=0.5) == [True] * 5
    assert drawn(torch.bool, high=0.5) == [False] * 5


def test_infinite_bounds_mean_the_whole_range() -> None:
    whole = {"low": -math.inf, "high": math.inf}
    assert drawn(torch.uint8, 3, **whole) == [106, 152, 249]
    assert drawn(torch.int64, 3, **whole) == [937055941807507096, 3839649608876091011, -3857126681373350968]
    assert drawn(torch.float16, 3, **whole) == [-64960.0, -51680.0, -28064.0]
    assert drawn(torch.float64, 3, **whole) == [-1.675060996535353e+308, -7.667512607308008e+307, 9.812346436416541e+307]


@pytest.mark.parametrize("dtype, low, high, text", [
    (torch.uint8, -3.5, -1.2, r"is \[-3.5, -1.2\), but torch.uint8 only supports \[0, 256\)"),
    (torch.bool, 4, 6, r"is \[4, 6\), but torch.bool only supports \[0, 2\)"),
    (torch.float16, 1e5, 1e6, "but torch.float16 only supports"),
    (torch.float32, 2, 1, "`low` must be less than `high`, but got 2 >= 1"),
    (torch.int8, 1, 1, "`low` must be less than `high`, but got 1 >= 1"),
    (torch.int8, math.nan, None, "cannot be NaN"),
])
def test_interval_outside_of_a_dtype_is_refused(dtype, low, high, text) -> None:
    with pytest.raises(ValueError, match=text):
        drawn(dtype, low=low, high=high)


@pytest.mark.parametrize("dtype", (torch.float32, torch.complex64), ids=str)
def test_empty_interval_of_numbers_is_one_value_and_deprecated(dtype) -> None:
    with pytest.warns(FutureWarning, match="low==high"):
        assert drawn(dtype, 2, low=1, high=1) == ([1.0, 1.0] if dtype is torch.float32 else [1 + 1j, 1 + 1j])


def test_dtype_without_tensors_is_refused() -> None:
    with pytest.raises(TypeError, match="is not supported by torch.testing.make_tensor"):
        drawn(torch.quint8)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz])
def test_eight_bit_floats_are_rounded_values_of_the_interval(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    expected = torch.empty(20).uniform_(-9, 9).to(dtype)
    torch.manual_seed(0)
    made = make_tensor((20,), dtype=dtype, device="cpu")
    assert made.dtype == dtype and made.float().equal(expected.float())
