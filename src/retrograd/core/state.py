"""The switches that every op reads: grad mode, and whether any mode is on in this thread.

NOTE [Two-step switches]
Reading a thread-local costs as much as a small op's bookkeeping, so the fast path first reads `switches.any_mode`, a
process-wide count of scopes that differ from the default (any thread inside no_grad, a mode, a transform...).
Zero means that grad mode is on and no mode is active in any thread. Otherwise the thread's own `tls` decides:
`tls.slow_path` counts features that only the slow path of `dispatch` handles (modes, transforms, anomaly,
traced origins, inference mode, a forward-AD level, a profiler); `tls.grad_enabled` is the grad mode; `tls.run_flags` is both
in one read.
Code that needs several of a thread's switches at once takes them off `tls.__dict__`, which is one such read; compiled code
reads some of them in C (see thread_flags.pyx) by the functions of their names below.
"""
from __future__ import annotations

from _thread import _local
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from retrograd.core.opdef import OpDef

thread_flags: Any
try:
    from retrograd.core import thread_flags  # type: ignore[attr-defined, no-redef, unused-ignore]
except ImportError:                 # nothing is compiled
    thread_flags = None


class Tape:
    """Records deferred ops (see compile/tape.py); returns None for an op that must run now."""

    def unary(self, op: OpDef, a: Any) -> Any:
        return None

    def binary(self, op: OpDef, a: Any, b: Any) -> Any:
        return None

    def call(self, op: OpDef, args: Any) -> Any:
        return None


class Switches:
    """The process-wide switches that the fast path tests first; one instance, `switches`."""

    __slots__ = ("any_mode", "function_modes", "tape")

    def __init__(self) -> None:
        self.any_mode: int = 0
        self.function_modes: int = 0      # number of active TorchFunctionModes in all threads
        self.tape: Tape | None = None     # records deferred ops; None while nothing is deferred


switches = Switches()
counts = switches          # alias with a static type in the compiled module


class ThreadState(_local):
    """One thread's modes. Change them through the functions below, which keep the counts right."""

    grad_enabled: bool = True
    slow_path: int = 0
    run_flags: int = 0                    # bit 0: grad mode is off; the rest counts `slow_path` and saved-tensor hooks
    inference: bool = False
    fwd_grad_enabled: bool = True
    linearizing: bool = False             # tangents of `linearize`: terms of missing tangents are dropped, not added as zeros
    multithreading: bool = True
    view_replay: bool = False
    check_nan: bool = True
    anomaly: bool = False
    origins: int = 0                      # which source lines are recorded (see core/origin.py)
    dual_level: int = -1                  # the current forward-AD level, -1 outside of one
    task: Any = None                      # the graph task that this thread is running
    backward_depth: int = 0
    below: bool = False                   # inside a __torch_dispatch__ handler, below autograd
    dispatch_disabled: bool = False       # __torch_dispatch__ is ignored
    profiler: Any = None                  # the recorder of this thread's ops (see autograd/recorder.py)
    autocast: Any = None                  # the dtype that autocast computes in, None if it is off
    deferrer: Any = None                  # the scope in which this thread's ops are deferred (see compile/deferred.py)
    function_disabled: int = 0            # __torch_function__ is ignored: 1 on subclasses, 2 on modes too

    def __init__(self) -> None:
        # NumPy reports floating-point errors through warnings; PyTorch's contract is silent inf and nan.
        np.seterr(all="ignore")
        self.__dict__.update(DEFAULTS)
        self.saved_hooks: list[Any] = []  # (pack, unpack) pairs, innermost last
        self.saved_hooks_disabled: Any = None
        self.dispatch_modes: list[Any] = []
        self.function_modes: list[Any] = []
        self.transforms: list[Any] = []
        self.stash: dict[str, Any] = {}
        if thread_flags is not None:
            self.anchor: Any = thread_flags.adopt(self.__dict__)


DEFAULTS = {name: value for name, value in vars(ThreadState).items() if not name.startswith("_")}
tls = ThreadState()
if thread_flags is not None:
    thread_flags.read_from(tls)


def slow_path() -> int:
    """The number of features active in this thread that need the slow path of dispatch."""
    return tls.slow_path


def run_flags() -> int:
    """Bit 0: grad mode is off; the rest counts slow-path features and saved-tensor hooks."""
    return tls.run_flags


def grad_enabled() -> bool:
    """Whether grad mode is on in this thread."""
    return tls.grad_enabled


def inference() -> bool:
    """Whether this thread is in inference mode."""
    return tls.inference


def thread_state() -> dict[str, Any]:
    """The switches of this thread by name."""
    return tls.__dict__


def set_grad_enabled(enabled: bool) -> bool:
    """Switch gradient recording for this thread; return what it was."""
    return switch_grad(tls.__dict__, enabled)


def switch_grad(state: dict[str, Any], enabled: bool) -> bool:
    """`set_grad_enabled` for a caller that has the switches of this thread."""
    was: bool = state["grad_enabled"]
    if was != enabled:
        counts.any_mode += -1 if enabled else 1
        state["grad_enabled"] = enabled
        state["run_flags"] ^= 1
    return was


def add_slow_path(count: int) -> None:
    """Change the number of this thread's slow-path features by `count`."""
    switches.any_mode += count
    tls.slow_path += count
    tls.run_flags += 2 * count


def add_saved_hooks(count: int) -> None:
    """Change the number of active pairs of saved-tensor hooks by `count`: they matter only to recorded ops."""
    switches.any_mode += count
    tls.run_flags += 2 * count


def swap_saved_hooks(hooks: list[Any]) -> list[Any]:
    """Replace this thread's saved-tensor hooks; return the old ones."""
    was: list[Any] = tls.saved_hooks
    tls.saved_hooks = hooks
    if was or hooks:
        add_saved_hooks(len(hooks) - len(was))
    return was


def set_flag(name: str, on: Any) -> Any:
    """Set a thread-local flag that takes ops off the fast path while it is truthy; return the old value."""
    was = getattr(tls, name)
    setattr(tls, name, on)
    if bool(was) != bool(on):
        add_slow_path(1 if on else -1)
    return was
