"""Futures: results that other threads compute, with callbacks; PyTorch's `torch.futures`."""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from retrograd.core.device import device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Future(Generic[T]):
    """A result that may not be there yet.

    >>> future = Future()
    >>> doubled = future.then(lambda done: done.value() * 2)
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._devices = check_devices(devices or [])
        self._condition = threading.Condition()
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether the result or an error is there."""
        return self._done

    def wait(self) -> T:
        """The result, when it is there; an error is raised."""
        with self._condition:
            self._condition.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> T:
        """The result, which must be there; an error is raised."""
        if not self._done:
            raise RuntimeError("The future has no value yet: value() is for completed futures, wait() waits for one")
        if self._error is not None:
            raise self._error
        return self._result

    def set_result(self, result: T) -> None:
        """Complete the future."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Complete the future with an error."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, result: Any, error: BaseException | None) -> None:
        with self._condition:
            if self._done:
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only be "
                                   "marked completed once.")
            self._result, self._error, self._done = result, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._condition.notify_all()
        for callback in callbacks:
            self._call(callback)

    def _call(self, callback: Callable[[Future[T]], Any]) -> None:
        """An error in a callback does not affect the code that completes the future: it is reported and ignored."""
        try:
            callback(self)
        except Exception as error:
            logger.error("Got the following error when running the callback: %s: %s", type(error).__name__, error)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call `callback` with this future when it is complete, now if it is."""
        with self._condition:
            if not self._done:
                self._callbacks.append(callback)
                return
        self._call(callback)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of what `callback` makes of this one."""
        made: Future[Any] = Future()

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                failed = RuntimeError("Got the following error when running the callback: "
                                      f"{type(error).__name__}: {error}")
                failed.__cause__ = error
                made.set_exception(failed)
            else:
                made.set_result(result)
        self.add_done_callback(run)
        return made


def check_devices(devices: Any) -> list[device]:
    """The devices whose streams a future is to follow: with an index each, all of one type."""
    found = [device(d) for d in devices]
    for d in found:
        if d.index is None:
            raise ValueError(f"Expected devices to have indices, got {d}")
        if d.type != found[0].type:
            raise ValueError(f"Expected all devices to be of the same type, but got a mismatch between {found[0]} and {d}")
    return found


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of futures, complete when all are; the first error among them is its error.

    >>> a, b = Future(), Future()
    >>> both = collect_all([a, b])
    >>> a.set_result(1)
    >>> both.done()
    False
    >>> b.set_result(2)
    >>> [future.value() for future in both.wait()]
    [1, 2]
    """
    made: Future[list[Future[Any]]] = Future()
    waiting = len(futures)
    lock = threading.Lock()

    def count(done: Future[Any]) -> None:
        nonlocal waiting
        with lock:
            waiting -= 1
            last = waiting == 0
            failed = done._error if not made.done() else None
            if failed is not None:
                made.set_exception(failed)
        if last and not made.done():
            made.set_result(list(futures))
    if not futures:
        made.set_result([])
    for future in futures:
        future.add_done_callback(count)
    return made


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all futures, when they are there."""
    return [future.wait() for future in collect_all(futures).wait()]
