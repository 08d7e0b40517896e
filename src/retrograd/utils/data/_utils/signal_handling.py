"""Errors of worker processes that die: the process that started them is told by a signal, and raises."""
from __future__ import annotations

import faulthandler
import os
import signal
import threading
from typing import Any

workers: dict[int, tuple[int, ...]] = {}        # by loader, the processes that it watches


def _set_worker_pids(loader: int, pids: tuple[int, ...]) -> None:
    workers[loader] = tuple(pids)


def _remove_worker_pids(loader: int) -> None:
    if loader not in workers:
        raise ValueError(f"Cannot find worker information for DataLoader with id {loader}")
    del workers[loader]


def _error_if_any_worker_fails() -> None:
    """Raise if a watched process was killed or ended with an error.

    >>> _error_if_any_worker_fails()        # none is watched
    """
    for loader, pids in list(workers.items()):
        for pid in pids:
            try:
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:           # it has been waited for elsewhere
                continue
            if ended is None or (ended.si_code == os.CLD_EXITED and ended.si_status == 0):
                continue
            workers[loader] = ()                # it raises once
            if ended.si_code == os.CLD_EXITED:
                raise RuntimeError(f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {ended.si_status}. "
                                   "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better "
                                   "error trace.")
            raise RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: "
                               f"{signal.strsignal(ended.si_status)}. ")


def _set_worker_signal_handlers() -> None:
    """In a worker: say where it was when it crashes."""
    faulthandler.enable()


class Handler:
    """Whether the handler is in place, and what was there before."""

    in_place = False
    before: Any = None


def _set_SIGCHLD_handler() -> None:
    """Look after the watched processes whenever a child ends."""
    if Handler.in_place or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGCHLD"):
        return
    before = signal.getsignal(signal.SIGCHLD)
    Handler.before = before if callable(before) else None

    def handle(number: int, frame: Any) -> None:
        _error_if_any_worker_fails()
        if Handler.before is not None:
            Handler.before(number, frame)
    signal.signal(signal.SIGCHLD, handle)
    Handler.in_place = True
