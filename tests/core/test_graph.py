"""Leaves and their accumulators: which keeps which alive, before and after Python code has seen them."""
from __future__ import annotations

import gc
import weakref

import pytest

import retrograd as torch


def leaf() -> torch.Tensor:
    return torch.ones(3, requires_grad=True)


@pytest.fixture(autouse=True)
def without_collector():
    gc.disable()
    yield
    gc.enable()


def test_a_graph_keeps_its_leaves_alive():
    x, y = leaf(), leaf()
    gone = weakref.ref(x)
    loss = (x * y).sum()
    del x
    assert gone() is not None
    loss.backward()
    assert torch.equal(gone().grad, torch.ones(3))
    del loss
    assert gone() is None


def test_an_unseen_accumulator_does_not_keep_its_leaf_alive():
    x = leaf()
    (x * 2).sum().backward()
    gone = weakref.ref(x)
    del x
    assert gone() is None


def test_a_shown_accumulator_owns_its_leaf():
    x = leaf()
    y = x * 2
    gone = weakref.ref(x)
    accumulator = y.grad_fn.next_functions[0][0]
    del x, y
    assert accumulator.variable is gone()
    del accumulator
    assert gone() is None


def test_an_accumulator_is_one_object_while_a_graph_uses_it():
    x = leaf()
    first, second = x * 2, x * 3
    shown = id(first.grad_fn.next_functions[0][0])
    assert second.grad_fn.next_functions[0][0] is first.grad_fn.next_functions[0][0]
    third = x.exp()
    assert id(third.grad_fn.next_functions[0][0]) == shown
    assert torch.autograd.graph.get_gradient_edge(x).node is third.grad_fn.next_functions[0][0]


def test_hooks_on_an_accumulator_live_with_the_graph():
    x = leaf()
    y = x * 2
    calls = []
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: calls.append(grads))
    z = x * 3
    del y
    z.sum().backward()
    assert len(calls) == 1
    del z
    (x * 4).sum().backward()
    assert len(calls) == 1


def test_writing_through_a_view_keeps_the_written_leaf_alive():
    x = leaf()
    gone = weakref.ref(x)
    base = torch.zeros(2, 3)
    base[0].copy_(x * 1)
    base[1].mul_(x)
    del x
    base.sum().backward(retain_graph=True)
    assert torch.equal(gone().grad, torch.ones(3))
