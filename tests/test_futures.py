"""Futures: results that other threads compute."""
from __future__ import annotations

import pickle
from threading import Thread

import pytest

from retrograd.futures import Future, collect_all, wait_all


def test_wait_gets_what_another_thread_sets() -> None:
    future: Future[int] = Future()
    thread = Thread(target=lambda: future.set_result(3))
    thread.start()
    assert future.wait() == 3 and future.done()
    thread.join()


def test_callbacks_run_once_the_result_is_there() -> None:
    future: Future[int] = Future()
    seen: list[int] = []
    future.add_done_callback(lambda done: seen.append(done.value()))
    chained = future.then(lambda done: done.value() + 1).then(lambda done: done.value() * 2)
    assert seen == [] and not chained.done()
    future.set_result(1)
    future.add_done_callback(lambda done: seen.append(done.value() + 10))
    assert seen == [1, 11] and chained.wait() == 4


def test_errors_are_raised_where_the_result_is_wanted() -> None:
    future: Future[int] = Future()
    chained = future.then(lambda done: done.value() + 1)
    future.set_exception(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        future.wait()
    with pytest.raises(RuntimeError, match="error when running the callback: ValueError: broken"):
        chained.wait()
    with pytest.raises(RuntimeError, match="Future can only be marked completed once"):
        future.set_result(1)


def test_several_are_waited_for() -> None:
    futures: list[Future[int]] = [Future(), Future()]
    both = collect_all(futures)
    futures[1].set_result(2)
    assert not both.done()
    futures[0].set_result(1)
    assert wait_all(futures) == [1, 2] and collect_all([]).wait() == []


def test_errors_of_callbacks_are_reported_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    future: Future[int] = Future()
    seen: list[int] = []
    future.add_done_callback(lambda done: seen.append(1 // 0))
    future.add_done_callback(lambda done: seen.append(done.value()))
    future.set_result(42)
    future.add_done_callback(lambda: None)     # type: ignore[arg-type, misc]
    assert future.wait() == 42 and seen == [42] and "ZeroDivisionError" in caplog.text and "TypeError" in caplog.text


def test_the_first_error_among_several_is_theirs() -> None:
    futures: list[Future[int]] = [Future(), Future()]
    both = collect_all(futures)
    futures[1].set_exception(KeyError("a"))
    with pytest.raises(KeyError, match="a"):
        both.wait()
    futures[0].set_result(1)


def test_futures_are_not_pickled_and_check_their_devices() -> None:
    with pytest.raises(RuntimeError, match="Can not pickle torch.futures.Future"):
        pickle.dumps(Future())
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])
    with pytest.raises(ValueError, match="mismatch between cuda:0 and cuda|mismatch between cuda:0 and meta:0"):
        Future(devices=["cuda:0", "meta:0"])
