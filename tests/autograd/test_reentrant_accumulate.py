"""Gradients that arrive while another one is being added: from modes, hooks, subclasses and other threads."""
from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import retrograd as torch
from retrograd.utils._python_dispatch import TorchDispatchMode


class BackwardInside(TorchDispatchMode):
    """Runs a backward pass of its own inside every op, as long as some are left."""

    def __init__(self, losses: list[Any]) -> None:
        super().__init__()
        self.losses, self.done = losses, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.losses:
            self.losses.pop().backward()
            self.done += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_mode_may_call_backward(first: bool, create_graph: bool) -> None:
    leaf = torch.ones(2, requires_grad=True)
    if not first:
        leaf.sum().backward()
    loss = (leaf * 2).sum()
    mode = BackwardInside([(leaf * 10).sum() for _ in range(9)])

    def run() -> None:
        with mode:
            loss.backward(create_graph=create_graph)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "backward inside a mode hangs"
    assert leaf.grad is not None and mode.done > 1
    assert leaf.grad.tolist() == [2.0 + 10 * mode.done + (not first)] * 2


def test_threads_add_exactly() -> None:
    leaf = torch.zeros(64, requires_grad=True)

    def work() -> None:
        for _ in range(300):
            (leaf * 1).sum().backward()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert leaf.grad is not None and leaf.grad.tolist() == [1200.0] * 64


def test_collected_object_may_call_backward() -> None:
    leaf = torch.ones(2, requires_grad=True)

    class Loop:
        """Garbage with a finalizer that runs a backward pass."""
    for _ in range(20):
        loop: Any = Loop()
        loop.itself = loop
        weakref.finalize(loop, lambda: leaf.sum().backward())
        del loop
        (leaf * 2).sum().backward()
    gc.collect()
    assert leaf.grad is not None and leaf.grad.tolist() == [60.0, 60.0]


def test_subclass_gradient_is_added_by_its_own_op() -> None:
    class Loud(torch.Tensor):
        """Counts the functions that it sees."""
    leaf = torch.ones(2, requires_grad=True)
    leaf.grad = torch.ones(2).as_subclass(Loud)
    (leaf * 2).sum().backward()
    assert type(leaf.grad) is Loud and leaf.grad.tolist() == [3.0, 3.0]
