"""Arrays may be computed by compiled kernels: arithmetic is NumPy's to the last bit, functions are within 4 ULP."""
from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.tensor import new_tensor

FUNCTIONS = {"sin": "sin", "cos": "cos", "tan": "tan", "exp": "exp", "log": "log", "tanh": "tanh", "sqrt": "sqrt",
             "exp2": "exp2", "log2": "log2", "expm1": "expm1", "log1p": "log1p", "sinh": "sinh", "cosh": "cosh",
             "atan": "arctan", "asin": "arcsin", "acos": "arccos", "square": "square", "abs": "abs", "neg": "negative"}


@pytest.mark.parametrize("size", [0, 1, 2, 8, 64, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "ours"), FUNCTIONS.items(), ids=list(FUNCTIONS))
def test_function_is_within_4_ulp(name: str, ours: str, dtype: type, size: int) -> None:
    x = np.random.default_rng(0).uniform(0.1, 0.9, size).astype(dtype)
    exact = getattr(np, ours)(x.astype(np.longdouble))
    made = getattr(torch, name)(new_tensor(x)).array
    assert (np.abs(made - exact) <= 4 * np.spacing(np.abs(exact.astype(dtype)))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sqrt", "square", "abs", "neg"])
def test_exact_function_gives_the_bits_of_numpy(name: str, dtype: type) -> None:
    x = np.random.default_rng(0).uniform(0.1, 0.9, 1000).astype(dtype)
    assert np.array_equal(getattr(torch, name)(new_tensor(x)).array, getattr(np, FUNCTIONS[name])(x))


@pytest.mark.parametrize("size", [0, 1, 8, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_gives_the_bits_of_numpy(name: str, dtype: type, size: int) -> None:
    x, y = np.random.default_rng(0).uniform(0.1, 0.9, (2, size)).astype(dtype)
    ours = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    assert np.array_equal(getattr(torch, name)(new_tensor(x), new_tensor(y)).array, ours(x, y))


def test_a_second_operand_without_dimensions_is_not_rounded_to_half_precision() -> None:
    x = torch.tensor([1.2421875]).bfloat16()
    for scale in (torch.tensor(0.467529296875).half(), torch.tensor(0.467529296875)):
        assert (x * scale).tolist() == [0.58203125] and (scale * x).tolist() == [0.578125]
        assert (scale / x).tolist() == [0.375]
