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


def test_bits_of_bools_with_a_number_are_integers() -> None:
    mask = torch.tensor([True, False])
    for made in (mask & 1, mask | 0, mask ^ 1, mask.bitwise_and(1), torch.bitwise_or(mask, 1)):
        assert made.dtype is torch.int64
    assert (mask & True).dtype is torch.bool


def test_an_in_place_op_looks_at_its_memory_before_its_dtypes() -> None:
    for target, write in ((torch.ones(3).long(), lambda t: t.div_(2)), (torch.ones(3).bool(), lambda t: t.add_(1)),
                          (torch.ones(3), lambda t: t.bitwise_and_(1)), (torch.ones(3), lambda t: t.fill_(torch.tensor(2.0)))):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
            write(target.expand(2, 3))


def test_a_fill_reaches_an_element_if_one_that_shares_it_is_chosen() -> None:
    row = torch.ones(3)
    with pytest.warns(UserWarning, match="masked_fill_ on expanded tensors is deprecated"):
        row.expand(2, 3).masked_fill_(torch.tensor([[True, False, False], [False, False, True]]), 7)
    assert row.tolist() == [7.0, 1.0, 7.0]
    row.expand(2, 3).index_fill_(1, torch.tensor([1]), 5)
    assert row.tolist() == [7.0, 5.0, 7.0]
