"""NumPy's scalars and arrays as the left operand, and NumPy's functions on tensors."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import retrograd as torch

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("apply", ARITHMETIC)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.float16])
def test_a_scalar_on_the_left_is_a_number(apply: Any, kind: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out = apply(kind(3), x)
    assert type(out) is torch.Tensor and out.dtype is torch.float32 and out.tolist() == apply(3.0, x).tolist()
    assert torch.autograd.grad(out.sum(), x)[0].tolist() == torch.autograd.grad(apply(3.0, x).sum(), x)[0].tolist()


@pytest.mark.parametrize("apply", COMPARISONS)
def test_a_scalar_on_the_left_is_compared(apply: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert apply(np.float64(2), x).tolist() == apply(2.0, x).tolist()


@pytest.mark.parametrize("apply", [*ARITHMETIC[1:3], operator.matmul, operator.floordiv, operator.lt])
def test_an_array_on_the_left_is_refused(apply: Any) -> None:
    with pytest.raises(TypeError, match=r"'numpy.ndarray' and '.*Tensor'"):
        apply(np.ones(2), torch.ones(2))


@pytest.mark.parametrize("apply", ARITHMETIC)
def test_an_array_on_the_right_is_computed_by_numpy_and_comes_back_as_a_tensor(apply: Any) -> None:
    out = apply(torch.ones(2), np.full(2, 2.0))
    assert type(out) is torch.Tensor and out.dtype is torch.float64 and out.tolist() == apply(np.ones(2), 2.0).tolist()


def test_functions_of_numpy_give_tensors() -> None:
    x = torch.tensor([0.0, 1.0])
    assert torch.allclose(np.sin(x), x.sin()) and torch.equal(np.add(x, 1), x + 1)
    assert torch.equal(np.maximum(x, 0.5), x.clamp(0.5))
    assert np.isnan(x).dtype is torch.uint8 and np.add.reduce(x).item() == 1
    assert [type(t) for t in np.modf(x)] == [torch.Tensor, torch.Tensor]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        np.sin(x.requires_grad_())


def test_an_array_is_no_operand_of_an_in_place_op() -> None:
    with pytest.raises(TypeError, match=r"mul_\(\): argument 'other' \(position 1\) must be Tensor, not numpy.ndarray"):
        torch.ones(2).mul_(np.ones(2))
    assert torch.ones(2).__iadd__(np.ones(2)) is NotImplemented


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"])
@pytest.mark.parametrize("inplace", ["", "="])
def test_an_operator_that_does_not_apply_is_named_with_both_types(sign: str, inplace: str) -> None:
    with pytest.raises(TypeError) as raised:
        exec(f"x {sign}{inplace} None" if inplace else f"y = x {sign} None", {"x": torch.ones(2, 2)})
    assert str(raised.value) == f"unsupported operand type(s) for {sign}{inplace}: 'Tensor' and 'NoneType'"
