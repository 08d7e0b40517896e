"""Autocast on the cpu: which ops it casts, what it keeps, and when it is off."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

import retrograd as torch


def matrix(**kwargs: Any) -> Any:
    return torch.ones(2, 2, **kwargs)


def test_products_are_lower_and_some_ops_float32() -> None:
    x = matrix()
    with torch.autocast("cpu"):
        low = x @ x
        assert low.dtype is torch.bfloat16
        assert (low + x).dtype is torch.float32 and low.exp().dtype is torch.bfloat16
        assert low.prod().dtype is torch.float32 and torch.trace(low).dtype is torch.float32
        assert torch.addmm(x, x, x).dtype is torch.bfloat16
        assert torch.einsum("ij,jk", x, x).dtype is torch.bfloat16
        assert torch.mv(x, x[0]).dtype is torch.float32 and torch.matmul(x, x[0]).dtype is torch.bfloat16
    assert (x @ x).dtype is torch.float32


def test_joining_takes_the_widest_dtype() -> None:
    x = matrix()
    with torch.autocast("cpu"):
        assert torch.cat([x @ x, x]).dtype is torch.float32
        assert torch.stack([x @ x, x @ x]).dtype is torch.bfloat16


def test_double_is_left_alone() -> None:
    with torch.autocast("cpu"):
        assert (matrix(dtype=torch.float64) @ matrix(dtype=torch.float64)).dtype is torch.float64


def test_scopes_nest_and_restore() -> None:
    x = matrix()
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32 and not torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", dtype=torch.float16):
            assert (x @ x).dtype is torch.float16
        assert (x @ x).dtype is torch.bfloat16
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16 and not torch.is_autocast_enabled("cpu")


def test_leaf_is_cast_once_per_outermost_scope() -> None:
    w = matrix(requires_grad=True)
    with torch.autocast("cpu"):
        first, second = (w @ w).grad_fn, (w @ matrix()).grad_fn
        assert first.next_functions[0][0] is second.next_functions[0][0]
    with torch.autocast("cpu"):
        assert (w @ w).grad_fn.next_functions[0][0] is not first.next_functions[0][0]
    with torch.autocast("cpu", cache_enabled=False):
        edges = (w @ w).grad_fn.next_functions
        assert edges[0][0] is not edges[1][0]


def test_gradient_comes_back_in_the_dtype_of_the_leaf() -> None:
    w = matrix(requires_grad=True)
    with torch.autocast("cpu"):
        loss = (w @ w).sum()
    loss.backward()
    assert w.grad.dtype is torch.float32 and w.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_decorated_function_runs_under_autocast() -> None:
    @torch.autocast("cpu")
    def product(x: Any) -> Any:
        return x @ x

    assert product(matrix()).dtype is torch.bfloat16


def test_unsupported_arguments_disable_it_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="target dtype is not supported"), torch.autocast("cpu", dtype=torch.float64):
        assert not torch.is_autocast_enabled("cpu")
    with pytest.warns(UserWarning, match="CUDA is not available"):
        torch.autocast("cuda")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(3)


def test_custom_function_casts_its_inputs_and_repeats_its_state() -> None:
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx: Any, x: Any) -> Any:
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            return x.clone()

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(torch.is_autocast_enabled("cpu"))
            return grad

    x = matrix(requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.autocast("cpu"):
            out = Product.apply(x @ x)
        out.sum().backward()
    assert seen == [(torch.float32, False), False]


def test_a_cast_made_without_grad_is_not_kept_for_training() -> None:
    weight = matrix(requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch.no_grad():
            weight @ weight
        out = weight @ weight
    assert out.requires_grad
    out.sum().backward()
    assert weight.grad is not None
