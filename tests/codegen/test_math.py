"""The vector math of the compiled kernels: at most 4 ULP over the whole range, special values as in C."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import retrograd as torch

RANGES: dict[str, tuple[str, float, float]] = {
    "exp": ("exp", -87, 88), "expm1": ("expm1", -80, 88), "exp2": ("exp2", -126, 127), "log": ("log", 1e-37, 1e37),
    "log1p": ("log1p", -0.999, 1e30), "log2": ("log2", 1e-37, 1e37), "log10": ("log10", 1e-37, 1e37), "sin": ("sin", -9e5, 9e5),
    "cos": ("cos", -9e5, 9e5), "tan": ("tan", -1e4, 1e4), "tanh": ("tanh", -20, 20), "sinh": ("sinh", -87, 87),
    "cosh": ("cosh", -87, 87), "asin": ("arcsin", -1, 1), "acos": ("arccos", -1, 1), "atan": ("arctan", -1e6, 1e6),
    "asinh": ("arcsinh", -1e6, 1e6), "acosh": ("arccosh", 1, 1e6), "atanh": ("arctanh", -0.999, 0.999)}


def spread(low: float, high: float, count: int) -> Any:
    """Numbers all over the range, and as many close to 0 where it is inside."""
    random = np.random.default_rng(0)
    even = random.uniform(low, high, count)
    if low > 0:
        return np.concatenate([even, np.exp(random.uniform(np.log(low), np.log(high), count))])
    return np.concatenate([even, np.sign(even) * np.minimum(np.abs(even), 10.0 ** random.uniform(-12, 0, count))])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RANGES)
def test_function_is_within_4_ulp(name: str, dtype: Any) -> None:
    ours, low, high = RANGES[name]
    x = spread(low, high, 20_000).astype(dtype)
    exact = getattr(np, ours)(x.astype(np.longdouble))
    made = getattr(torch, name)(torch.from_numpy(x)).numpy()
    error = np.abs(made - exact) / np.spacing(np.abs(exact.astype(dtype)))
    assert error.max() <= 4, (x[error.argmax()], float(error.max()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RANGES)
def test_special_values_are_those_of_c(name: str, dtype: Any) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e300, -1e300, 5e-324, 1e6], np.float64)
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
        wanted = getattr(np, RANGES[name][0])(x)
    np.testing.assert_allclose(getattr(torch, name)(torch.from_numpy(x)).numpy(), wanted,
         rtol=1e-6 if dtype is np.float32 else 1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "high", "most"), [("erfinv", 1 - 1e-6, 4), ("i0", 85, 12), ("i1", 85, 20), ("i0e", 900, 12),
                                                     ("i1e", 900, 20)])
def test_special_functions_against_scipy(name: str, high: float, most: float, dtype: Any) -> None:
    x = spread(-high, high, 20_000).astype(dtype)
    exact = getattr(scipy.special, name)(x.astype(np.float64))
    made = getattr(torch.special, name)(torch.from_numpy(x)).numpy()
    error = np.abs(made - exact) / np.spacing(np.abs(exact.astype(dtype)))
    assert error.max() <= most, (x[error.argmax()], float(error.max()))


def test_ends_of_special_functions() -> None:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([0.0, -0.0, 1, -1, 2, nan])
    made = torch.erfinv(x)
    assert made[:4].tolist() == [0, 0, inf, -inf] and made[4:].isnan().all()
    assert torch.special.i0e(torch.tensor([inf, -inf])).tolist() == [0, 0]
    for name in ("i0", "i1", "i0e", "i1e"):
        assert getattr(torch.special, name)(torch.tensor([nan])).isnan().all()


def test_fmod_of_doubles_is_exact() -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(20_000) * 10.0 ** rng.uniform(-3, 3, 20_000)
    whole = y * rng.integers(1, 50, y.size)
    for x in (rng.standard_normal(y.size) * 1e6, whole, np.nextafter(whole, np.inf), np.nextafter(whole, -np.inf),
              whole * 1e-310, np.where(np.arange(y.size) % 1500, whole, np.inf), whole * 1e20):
        with np.errstate(all="ignore"):
            wanted = np.fmod(x, y)
        made = torch.fmod(torch.from_numpy(x), torch.from_numpy(y)).numpy()
        np.testing.assert_array_equal(made, wanted)
        finite = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(made)[finite], np.signbit(wanted)[finite])
