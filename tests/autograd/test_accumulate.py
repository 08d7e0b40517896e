"""Gradients on their way into `.grad`: taken over where there are no other references, copied into layout, added in place."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import Function

grad = torch.autograd.grad


class Give(Function):
    """Gives its input the gradient that it is told to."""

    @staticmethod
    def forward(ctx: Any, x: Any, made: Any) -> Any:
        ctx.made = made
        return x.sum() * 0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.made(), None


def give(x: Any, made: Any) -> None:
    Give.apply(x, made).backward()


# ---- the first gradient
def test_gradient_without_other_references_is_taken_over() -> None:
    x = torch.zeros(3, requires_grad=True)
    places: list[int] = []

    def fresh() -> Any:
        made = torch.arange(3.0) + 1
        places.append(made.data_ptr())
        return made

    give(x, fresh)
    assert x.grad.data_ptr() == places[0] and x.grad.tolist() == [1.0, 2.0, 3.0]


def test_a_gradient_that_a_user_holds_is_copied() -> None:
    x = torch.zeros(3, requires_grad=True)
    held = torch.ones(3)
    give(x, lambda: held)
    assert x.grad is not held and x.grad.data_ptr() != held.data_ptr()
    give(x, lambda: held)
    assert held.tolist() == [1.0] * 3 and x.grad.tolist() == [2.0] * 3


def test_a_start_gradient_is_never_taken_over() -> None:
    x = torch.zeros(3, requires_grad=True)
    start = torch.ones(3)
    x.backward(start)
    assert x.grad.data_ptr() != start.data_ptr()
    (x + 0).backward(start)
    assert start.tolist() == [1.0] * 3 and x.grad.tolist() == [2.0] * 3


def test_a_gradient_that_two_leaves_get_is_not_shared() -> None:
    a, b = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    (a + b).sum().backward()
    assert a.grad.data_ptr() != b.grad.data_ptr()
    a.grad.add_(5)
    assert b.grad.tolist() == [1.0, 1.0]


def test_a_gradient_that_a_hook_kept_is_copied() -> None:
    x = torch.zeros(2, requires_grad=True)
    kept: list[Any] = []
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [2.0, 2.0]


def test_an_expanded_gradient_is_copied_out() -> None:
    x = torch.zeros(3, requires_grad=True)
    x.sum().backward()
    assert x.grad.stride() == (1,)
    x.grad[0] = 7
    assert x.grad.tolist() == [7.0, 1.0, 1.0]


# ---- layout
LAYOUTS = {
    "rows": lambda: torch.zeros(2, 3),
    "columns": lambda: torch.zeros(3, 2).t(),
    "permuted": lambda: torch.zeros(2, 3, 4).permute(2, 0, 1),
    "with gaps": lambda: torch.zeros(2, 6)[:, ::2],
    "expanded": lambda: torch.zeros(1, 3).expand(2, 3),
    "none": lambda: torch.zeros(()),
}


@pytest.mark.parametrize(("name", "strides"), [
    ("rows", (3, 1)), ("columns", (1, 2)), ("permuted", (1, 12, 4)), ("with gaps", (3, 1)), ("expanded", (3, 1)), ("none", ())])
@pytest.mark.parametrize("create", [False, True])
def test_grad_has_the_strides_of_a_dense_tensor_or_is_contiguous(name: str, strides: Any, create: bool) -> None:
    x = LAYOUTS[name]().detach().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Give.apply(x, lambda: torch.ones(x.shape)).backward(create_graph=create)
    assert x.grad.stride() == strides and x.grad.shape == x.shape
    del x.grad


def test_a_gradient_in_another_order_is_copied_into_the_right_one() -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    give(x, lambda: torch.arange(6.0).reshape(3, 2).t())
    assert x.grad.stride() == (3, 1) and x.grad.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]


def test_adding_keeps_the_strides_that_are_there() -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    x.grad = torch.zeros(3, 2).t()
    there = x.grad
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        give(x, lambda: torch.ones(2, 3))
    assert x.grad is there and there.stride() == (1, 2) and there.tolist() == [[1.0] * 3] * 2


# ---- the second gradient
def test_gradients_are_added_in_place() -> None:
    x = torch.zeros(2, requires_grad=True)
    (x * 2).sum().backward()
    first, version = x.grad, x.grad._version
    (x * 3).sum().backward()
    assert x.grad is first and first.tolist() == [5.0, 5.0] and first._version == version + 1


def test_grad_set_by_the_user_is_added_to() -> None:
    x = torch.zeros(2, requires_grad=True)
    mine = torch.tensor([10.0, 20.0])
    x.grad = mine
    x.sum().backward()
    assert x.grad is mine and mine.tolist() == [11.0, 21.0]


def test_undefined_gradients_leave_grad_alone() -> None:
    x = torch.zeros(2, requires_grad=True)
    give(x, lambda: None)
    assert x.grad is None
    x.grad = torch.ones(2)
    give(x, lambda: None)
    assert x.grad.tolist() == [1.0, 1.0] and x.grad._version == 0


# ---- with create_graph
def twice(x: Any, y: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(create_graph=True)


def test_create_graph_makes_a_gradient_that_can_be_differentiated() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    twice(x, x ** 3)
    assert x.grad.item() == 27.0 and x.grad.requires_grad
    second, = grad(x.grad, x)
    assert second.item() == 18.0
    x.grad = None


def test_create_graph_adds_out_of_place() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    x.grad = first = torch.tensor([100.0])
    twice(x, x ** 2)
    assert x.grad is not first and first.item() == 100.0 and x.grad.item() == 106.0
    assert x.grad.grad_fn.name() == "AddBackward0"
    x.grad = None


def test_a_gradient_with_a_history_is_added_to_in_place_and_keeps_it() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    twice(x, x ** 2)
    there, node = x.grad, x.grad.grad_fn
    (x * 5).backward()
    assert x.grad is there and there.item() == 11.0 and there.grad_fn is node
    x.grad = mine = torch.tensor([1.0], requires_grad=True)
    (x * 5).backward()
    assert x.grad is mine and mine.item() == 6.0 and mine.requires_grad


# ---- dtypes
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "complex64"])
def test_grad_has_the_dtype_of_its_leaf(dtype: str) -> None:
    x = torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True)
    (x.to(torch.complex128) * 2).sum().abs().backward()
    assert x.grad.dtype == x.dtype
    (x * 1).sum().abs().backward()
    assert x.grad.dtype == x.dtype and x.grad.tolist() == [3.0, 3.0]


# ---- sparse and dense
def sparse() -> Any:
    return torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,), check_invariants=True)


@pytest.mark.parametrize(("first", "second", "is_sparse"), [
    (sparse, sparse, True), (sparse, lambda: torch.ones(3), False), (lambda: torch.ones(3), sparse, False)])
def test_sparse_and_dense_gradients_meet(first: Any, second: Any, is_sparse: bool) -> None:
    x = torch.zeros(3, requires_grad=True)
    give(x, first)
    give(x, second)
    assert x.grad.is_sparse == is_sparse
    total = x.grad.to_dense() if is_sparse else x.grad
    assert total.tolist() == ([2.0, 0.0, 4.0] if is_sparse else [2.0, 1.0, 3.0])


@pytest.mark.parametrize(("function", "version"), [
    (lambda x: x.exp(), 0), (lambda x: x * x, 1), (lambda x: x * 2 + x * 3 + x.exp(), 2), (lambda x: x + x, 0),
    (lambda x: x, 1), (lambda x: x.T, 1), (lambda x: x.T.exp(), 0), (lambda x: x.clone(), 1)])
def test_the_writes_that_make_a_gradient_are_counted(function, version):
    x = torch.ones(2, 3, requires_grad=True)
    function(x).sum().backward()
    assert x.grad._version == version
    function(x).sum().backward()
    assert x.grad._version == version + 1


def test_hooks_that_keep_a_gradient_make_it_a_copy():
    kept = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: None)
    x.exp().sum().backward()
    assert x.grad._version == 0
    y = torch.ones(2, requires_grad=True)
    y.register_hook(kept.append)
    y.exp().sum().backward()
    assert y.grad._version == 1 and kept[0] is not y.grad


@pytest.mark.parametrize("wanted", [torch.float64, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("function", [lambda t: (t * t).sum(), lambda t: t.sum(), lambda t: (t.exp() + t.view(3)).sum()])
def test_gradients_have_the_dtype_that_their_leaf_asks_for(function: Any, wanted: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    x.grad_dtype = wanted
    assert torch.autograd.grad(function(x), x)[0].dtype is wanted
    for _ in range(2):
        function(x).backward()
        assert x.grad.dtype is wanted
