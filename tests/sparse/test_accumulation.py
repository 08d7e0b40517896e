"""How sparse gradients get into `.grad`, and meet dense ones on the way."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import Function, gradcheck
from retrograd.core import warn
from retrograd.nn import functional as F


class Fixed(Function):
    """Passes its input on; its gradient is whatever `made` returns."""

    @staticmethod
    def forward(ctx: Any, x: Any, made: Any) -> Any:
        ctx.made = made
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return ctx.made(), None


def send(x: Any, made: Any, **options: Any) -> None:
    Fixed.apply(x, made).sum().backward(**options)


def test_a_lone_gradient_is_stolen_and_promises_no_order() -> None:
    x = torch.zeros(2, 2, requires_grad=True)
    seen = []

    def made() -> Any:
        grad = torch.eye(2).to_sparse()
        seen.append(grad._values().data_ptr())
        return grad
    send(x, made)
    assert x.grad._values().data_ptr() == seen[0] and not x.grad.is_coalesced()


def test_gradient_with_other_references_is_copied() -> None:
    x, held = torch.zeros(2, 2, requires_grad=True), torch.eye(2).to_sparse()
    send(x, lambda: held)
    assert x.grad._values().data_ptr() != held._values().data_ptr() and x.grad.is_coalesced()


@pytest.mark.parametrize(("first", "second", "same", "layout"), [
    ("dense", "sparse", True, torch.strided), ("sparse", "sparse", True, torch.sparse_coo),
    ("sparse", "dense", False, torch.strided)])
def test_second_gradient(first: str, second: str, same: bool, layout: Any) -> None:
    kinds = {"dense": lambda: torch.eye(2), "sparse": lambda: torch.eye(2).to_sparse()}
    x = torch.zeros(2, 2, requires_grad=True)
    x.grad = kinds[first]()
    before = x.grad
    send(x, kinds[second])
    assert (x.grad is before) is same and x.grad.layout is layout and x.grad.to_dense().tolist() == [[2.0, 0.0], [0.0, 2.0]]


def test_with_create_graph_the_old_gradient_stays(monkeypatch: Any) -> None:
    monkeypatch.setattr(warn.Shown, "texts", set())       # the warning is given once per process
    x = torch.zeros(2, requires_grad=True)
    x.grad = torch.ones(2).to_sparse()
    before = x.grad
    with pytest.warns(UserWarning, match="create_graph=True"):
        send(x, lambda: torch.ones(2).to_sparse(), create_graph=True)
    assert x.grad is not before and before.to_dense().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("order", [("sparse", "dense", "sparse"), ("dense", "sparse", "sparse"), ("sparse", "sparse", "dense")])
def test_gradients_meet_in_any_order(order: Any) -> None:
    kinds = {"dense": lambda: torch.ones(3), "sparse": lambda: torch.tensor([0.0, 2.0, 0.0]).to_sparse()}
    x = torch.zeros(3, requires_grad=True)
    sum([Fixed.apply(x, kinds[kind]) for kind in order]).sum().backward()
    assert x.grad.tolist() == [1.0, 5.0, 1.0]


@pytest.mark.parametrize(("shape", "index", "dim"), [((3, 2), [[0, 0], [1, 2]], 0), ((3, 2), [[0, 1, 1]], -1), ((), [0, 0], 0),
                                                     ((3,), 1, 0), ((), 0, 0)])
def test_gather_sparse_gradient_equals_the_dense_one(shape: Any, index: Any, dim: int) -> None:
    index = torch.tensor(index)
    grads = []
    for sparse in (False, True):
        x = torch.ones(shape, requires_grad=True)
        out = torch.gather(x, dim, index, sparse_grad=sparse)
        out.backward(torch.arange(1.0, out.numel() + 1).reshape(out.shape))
        assert x.grad.is_sparse is sparse
        grads.append(x.grad.to_dense().tolist())
    assert grads[0] == grads[1]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag_sparse_gradient_equals_the_dense_one(mode: str) -> None:
    grads = []
    for sparse in (False, True):
        weight = torch.arange(8.0).reshape(4, 2).requires_grad_()
        out = F.embedding_bag(torch.tensor([1, 2, 1, 3]), weight, torch.tensor([0, 3]), mode=mode, sparse=sparse, padding_idx=3)
        out.backward(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        grads.append(weight.grad.to_dense().tolist())
    assert grads[0] == grads[1]


def test_embedding_leaves_padding_out_of_sparse_gradients() -> None:
    weight = torch.ones(4, 2, requires_grad=True)
    F.embedding(torch.tensor([[1, 2], [1, 3]]), weight, padding_idx=3, sparse=True).sum().backward()
    assert weight.grad._indices().tolist() == [[1, 2, 1]]


def test_data_of_another_layout_is_refused() -> None:
    x = torch.zeros(1)
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        x.data = torch.ones(1).to_sparse()


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_tells_masked_from_whole_gradients(fast: bool) -> None:
    torch.manual_seed(0)
    x = torch.rand(3, 2, dtype=torch.float64).round().to_sparse().requires_grad_()
    assert gradcheck(lambda t: t.to_dense(), x, masked=True, fast_mode=fast)
    assert gradcheck(lambda t: t.to_dense(masked_grad=False), x, masked=False, fast_mode=fast)
