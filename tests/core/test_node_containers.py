"""Nodes own a tuple and a list that the garbage collector does not track: cycles through them are found all the same."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import retrograd as torch


class Held:
    """An object of a user, to which a weak reference can be made."""

    z: Any


def test_a_cycle_through_edges_is_collected() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * x
    held = Held()
    held.z = y * 2                            # held -> its node -> node of y -> hook -> held
    y.register_hook(lambda grad, held=held: grad)
    gone = weakref.ref(held)
    del held, x, y
    gc.collect()
    assert gone() is None


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_cycle_through_saved_tensors_is_collected() -> None:
    x = torch.nn.Parameter(torch.ones(3))
    (x ** 3).sum().backward(create_graph=True)          # x.grad -> its node -> saved x
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_what_is_referenced_from_outside_survives_a_collection() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * x
    held = Held()
    held.z = y
    y.register_hook(lambda grad, held=held: grad)
    edges, saved, gone = y.grad_fn._next_, y.grad_fn._saved_, weakref.ref(held)
    del x, y, held
    gc.collect()
    assert [type(n).__name__ for n in edges] == ["AccumulateGrad"] * 2 and saved[0].tolist() == [1.0, 1.0, 1.0]
    assert edges[0].variable is saved[0]
    del edges, saved
    gc.collect()
    assert gone() is None


def test_collections_while_a_graph_grows_and_runs() -> None:
    x = torch.ones(3, requires_grad=True)
    threshold = gc.get_threshold()
    try:
        gc.set_threshold(5, 2, 2)
        y = x
        for _ in range(300):
            y = y * x + x
        y.sum().backward()
    finally:
        gc.set_threshold(*threshold)
    assert x.grad is not None and x.grad.shape == (3,)
