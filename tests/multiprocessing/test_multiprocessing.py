"""Tensors that processes share, and functions in several processes."""
from __future__ import annotations

import os
from typing import Any

import pytest

import retrograd as torch
import retrograd.multiprocessing as mp

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def add_one(received: Any, sent: Any) -> None:
    tensor = received.get()
    tensor += 1
    sent.put((type(tensor).__name__, tensor.requires_grad, tensor.sum().item()))


def fill(index: int, shared: Any) -> None:
    shared[index] = index + 1


def fail(index: int) -> None:
    if index == 1:
        raise ValueError("process one")


def leave(index: int) -> None:
    os._exit(7)


def test_a_queue_shares_the_memory_of_a_tensor() -> None:
    context = mp.get_context("fork")
    there, back = context.Queue(), context.Queue()
    child = context.Process(target=add_one, args=(there, back))
    child.start()
    tensor = torch.zeros(3)
    there.put(tensor)
    assert back.get() == ("Tensor", False, 3.0)
    child.join()
    assert tensor.tolist() == [1, 1, 1] and tensor.is_shared()


def test_parameters_stay_parameters() -> None:
    context = mp.get_context("fork")
    ours, theirs = context.Pipe()
    sent = torch.nn.Parameter(torch.ones(2))
    ours.send(sent)
    received = theirs.recv()
    assert type(received) is torch.nn.Parameter and received.requires_grad
    with torch.no_grad():
        received.add_(1)
    assert sent.tolist() == [2, 2]


def test_tensors_over_one_memory_arrive_over_one_memory() -> None:
    ours, theirs = mp.get_context("fork").Pipe()
    base = torch.zeros(4).share_memory_()
    ours.send((base, base[1:3]))
    received, view = theirs.recv()
    view += 5
    assert received.tolist() == [0, 5, 5, 0] and base.tolist() == [0, 5, 5, 0]


def test_results_of_a_graph_are_not_sent() -> None:
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        mp.reductions.reduce_tensor(torch.ones(2, requires_grad=True) * 2)


def test_views_do_not_move_without_their_base() -> None:
    with pytest.raises(NotImplementedError, match="share_memory_ cannot move a view"):
        torch.zeros(4)[1:].share_memory_()


def test_modules_are_shared() -> None:
    module = torch.nn.Linear(2, 2).share_memory()
    assert all(p.is_shared() for p in module.parameters()) and isinstance(module.weight, torch.nn.Parameter)


def test_spawn_calls_a_function_in_every_process() -> None:
    shared = torch.zeros(2).share_memory_()
    mp.spawn(fill, (shared,), nprocs=2)
    assert shared.tolist() == [1, 2]


def test_errors_of_processes_come_back() -> None:
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated with the following error:\n(.|\n)*process one"):
        mp.start_processes(fail, nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 7"):
        mp.start_processes(leave, start_method="fork")
