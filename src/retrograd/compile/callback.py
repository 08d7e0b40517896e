"""Callbacks before and after compilations."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from threading import Lock
from typing import NamedTuple


class CallbackTrigger(Enum):
    """The reason of a compilation."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4


class CallbackArgs(NamedTuple):
    """The arguments of callbacks."""

    callback_trigger: CallbackTrigger
    compile_id: str


Callback = Callable[[CallbackArgs], None]


class CompilationCallbackHandler:
    """The callbacks of the process, called around the outermost compilation only."""

    def __init__(self) -> None:
        self.start_callbacks: list[Callback] = []
        self.end_callbacks: list[Callback] = []
        self.lock = Lock()
        self.running = 0                          # compilations in progress

    def register_start_callback(self, callback: Callback) -> Callback:
        self.start_callbacks.append(callback)
        return callback

    def register_end_callback(self, callback: Callback) -> Callback:
        self.end_callbacks.append(callback)
        return callback

    def remove_start_callback(self, callback: Callback) -> None:
        self.start_callbacks.remove(callback)

    def remove_end_callback(self, callback: Callback) -> None:
        self.end_callbacks.remove(callback)

    def run_start_callbacks(self, args: CallbackArgs) -> None:
        for callback in self.start_callbacks:
            callback(args)

    def run_end_callbacks(self, args: CallbackArgs) -> None:
        for callback in self.end_callbacks:
            callback(args)

    def clear(self) -> None:
        self.start_callbacks.clear()
        self.end_callbacks.clear()

    @contextmanager
    def install_callbacks(self, trigger: CallbackTrigger, compile_id: str) -> Iterator[None]:
        """The scope of a compilation."""
        args = CallbackArgs(trigger, compile_id)
        with self.lock:
            self.running += 1
            outermost = self.running == 1
        try:
            if outermost:
                self.run_start_callbacks(args)
            yield
        finally:
            with self.lock:
                self.running -= 1
                outermost = self.running == 0
            if outermost:
                self.run_end_callbacks(args)


callback_handler = CompilationCallbackHandler()


def on_compile_start(callback: Callback) -> Callback:
    """Register a function to call before each compilation; also a decorator.

    >>> import retrograd as torch
    >>> heard = on_compile_start(lambda args: print(args.callback_trigger.name))
    >>> torch.compile(lambda x: x + 1)(torch.ones(1))
    DYNAMO
    tensor([2.])
    >>> callback_handler.remove_start_callback(heard)
    """
    return callback_handler.register_start_callback(callback)


def on_compile_end(callback: Callback) -> Callback:
    """Register a function to call after each compilation; also a decorator."""
    return callback_handler.register_end_callback(callback)
