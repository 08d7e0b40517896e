"""What compiled code reads of a thread's switches is what `tls` says, in every thread and at every time."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.core import state


def seen() -> tuple[Any, ...]:
    """The switches by their functions; compiled, those that dispatch calls."""
    source = state if state.thread_flags is None else state.thread_flags
    return source.slow_path(), source.run_flags(), bool(source.grad_enabled()), bool(source.inference())


def told() -> tuple[Any, ...]:
    return state.tls.slow_path, state.tls.run_flags, state.tls.grad_enabled, state.tls.inference


def in_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_switches_follow_scopes() -> None:
    before = seen()
    assert before == told()
    with torch.no_grad():
        assert seen() == told() and not seen()[2]
        with torch.enable_grad():
            assert seen() == told() and seen()[2]
    with torch.inference_mode():
        assert seen() == told() and seen()[3] and seen()[0]
    assert seen() == before


def test_new_thread_has_its_own_switches() -> None:
    with torch.no_grad(), torch.inference_mode():
        assert in_thread(seen) == (0, 0, True, False)


def test_threads_one_after_the_other_start_afresh() -> None:
    def work() -> Any:
        first = seen()
        state.set_grad_enabled(False)
        inner = (torch.ones(2, requires_grad=True) * 2).requires_grad
        state.set_grad_enabled(True)
        return first, inner
    for _ in range(20):
        assert in_thread(work) == ((0, 0, True, False), False)


def test_recording_in_one_thread_is_not_stopped_by_another() -> None:
    with torch.no_grad():
        assert in_thread(lambda: torch.softmax(torch.ones(2, requires_grad=True), 0).requires_grad)
        assert not torch.softmax(torch.ones(2, requires_grad=True), 0).requires_grad
