"""Grad modes: the scopes that switch gradient recording, inference mode, view replay and multithreading.

Each one is a context manager and a decorator. As a decorator it wraps plain functions, generators, coroutines and
async generators: their bodies run in the mode, and the caller keeps its own mode between the steps.
"""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from types import TracebackType
from typing import Any

from ..core import state
from ..core.hooks import hooks
from ..core.state import switches, tls

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "set_multithreading_enabled",
           "is_grad_enabled", "is_inference_mode_enabled", "is_multithreading_enabled", "is_view_replay_enabled"]

_new = object.__new__


def is_grad_enabled() -> bool:
    """Whether ops record what a backward pass needs, in this thread.

    >>> is_grad_enabled()
    True
    """
    enabled: bool = tls.grad_enabled
    return enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`.

    >>> is_inference_mode_enabled()
    False
    """
    enabled: bool = tls.inference
    return enabled


def is_multithreading_enabled() -> bool:
    """Whether backward passes started in this thread may use other threads.

    >>> is_multithreading_enabled()
    True
    """
    enabled: bool = tls.multithreading
    return enabled


def is_view_replay_enabled() -> bool:
    """Whether a modified view gets its gradient function by replaying its view ops rather than by strides.

    >>> is_view_replay_enabled()
    False
    """
    enabled: bool = tls.view_replay
    return enabled


# --- decorating ---

def _in_steps(make_scope: Callable[[], Any], generator: Any) -> Generator[Any, Any, Any]:
    """Drive `generator` (or an `__await__` iterator), entering a scope for each step only."""
    resume, message = generator.send, None
    while True:
        try:
            with make_scope():
                produced = resume(message)
        except StopIteration as stop:
            return stop.value
        finally:
            message = None  # keeping the exception would make a reference cycle with this frame
        try:
            message = yield produced
            resume = generator.send
        except GeneratorExit:
            with make_scope():
                generator.close()
            raise
        except BaseException as error:
            # The body may handle it and continue; if not, `resume` raises it again above.
            resume, message = generator.throw, error


class _AwaitInSteps:
    """Awaits `awaitable` in steps, see `_in_steps`."""

    __slots__ = ("awaitable", "make_scope")

    def __init__(self, make_scope: Callable[[], Any], awaitable: Awaitable[Any]) -> None:
        self.make_scope = make_scope
        self.awaitable = awaitable

    def __await__(self) -> Generator[Any, Any, Any]:
        # `await` inside gives every awaitable, also an async generator's, the same send, throw and close.
        return _in_steps(self.make_scope, _awaiting(self.awaitable))


async def _awaiting(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _decorate(make_scope: Callable[[], Any], function: Any) -> Callable[..., Any]:
    """`function` with its body run in scopes from `make_scope`, one for each call or step."""
    if inspect.isclass(function):
        warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You should only "
                      "decorate functions or methods. To preserve the current behavior of class decoration, you can "
                      "directly decorate the `__init__` method and nothing else.", FutureWarning, stacklevel=3)
        # Returns a function that constructs in the mode; the class itself is unchanged.
        return _decorate(make_scope, lambda *args, **kwargs: function(*args, **kwargs))

    if inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def steps(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from _in_steps(make_scope, function(*args, **kwargs)))
        return steps

    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await _AwaitInSteps(make_scope, function(*args, **kwargs))
        return awaited

    if inspect.isasyncgenfunction(function):
        @functools.wraps(function)
        async def async_steps(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            generator = function(*args, **kwargs)
            step = generator.asend(None)
            while True:
                try:
                    produced = await _AwaitInSteps(make_scope, step)
                except StopAsyncIteration:
                    return
                try:
                    message = yield produced
                    step = generator.asend(message)
                except GeneratorExit:
                    await _AwaitInSteps(make_scope, generator.aclose())
                    raise
                except BaseException as error:
                    step = generator.athrow(error)
        return async_steps

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with make_scope():
            return function(*args, **kwargs)
    return call


class _Scope:
    """Base of all modes: use as a decorator, with a fresh scope from `clone` for each call."""

    __slots__ = ()

    def __call__(self, orig_func: Any) -> Any:
        return _decorate(self.clone, orig_func)

    def clone(self) -> Any:
        """A new scope with the same arguments.

        >>> type(no_grad().clone()).__name__
        'no_grad'
        """
        return type(self)()


def _require_bool(function: str, mode: Any) -> None:
    if mode is not True and mode is not False:
        raise TypeError(f"{function}(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")


# --- grad mode ---

def _set_grad_enabled(enabled: bool) -> None:
    """Switch gradient recording; visible to function modes under any of the scopes."""
    if tls.function_modes and tls.function_disabled < 2:
        hooks.torch_function(_set_grad_enabled, (enabled,), {})
    else:
        state.set_grad_enabled(enabled)


class no_grad(_Scope):
    """Within this scope, results do not require gradients.

    >>> with no_grad(): is_grad_enabled()
    False
    >>> no_grad(is_grad_enabled)()
    False
    """

    __slots__ = ("prev",)

    prev: bool

    def __new__(cls, orig_func: Any = None) -> Any:
        return _new(cls) if orig_func is None else cls()(orig_func)

    # __enter__ and __exit__ are hot in loops, so state.set_grad_enabled is inlined in both.
    def __enter__(self) -> None:
        mine = tls.__dict__
        if switches.function_modes:
            self.prev = mine["grad_enabled"]
            _set_grad_enabled(False)
        elif mine["grad_enabled"]:
            self.prev = True
            switches.any_mode += 1
            mine["grad_enabled"] = False
            mine["run_flags"] |= 1
        else:
            self.prev = False

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        mine = tls.__dict__
        if switches.function_modes:
            _set_grad_enabled(self.prev)
        elif mine["grad_enabled"] is not self.prev:
            switches.any_mode += -1 if self.prev else 1
            mine["grad_enabled"] = self.prev
            mine["run_flags"] ^= 1


class enable_grad(_Scope):
    """Within this scope, results require gradients again, whatever scope is around it.

    >>> with no_grad(), enable_grad(): is_grad_enabled()
    True
    """

    __slots__ = ("prev",)

    prev: bool

    def __new__(cls, orig_func: Any = None) -> enable_grad:
        return _new(cls) if orig_func is None else cls()(orig_func)

    def __enter__(self) -> None:
        self.prev = tls.grad_enabled
        _set_grad_enabled(True)

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        _set_grad_enabled(self.prev)


class set_grad_enabled(_Scope):
    """Switch gradient recording immediately; a `with` block or a decorated function restores the previous setting.

    >>> with set_grad_enabled(False): is_grad_enabled()
    False
    """

    __slots__ = ("mode", "prev")

    def __init__(self, mode: bool) -> None:
        _require_bool("set_grad_enabled", mode)
        self.mode = mode
        self.prev = tls.grad_enabled
        _set_grad_enabled(mode)

    def __call__(self, orig_func: Any) -> Any:
        # Decorating a function undoes the switch made by the constructor.
        _set_grad_enabled(self.prev)
        return _decorate(self.clone, orig_func)

    def __enter__(self) -> None:
        _set_grad_enabled(self.mode)

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        _set_grad_enabled(self.prev)

    def clone(self) -> set_grad_enabled:
        """A new scope with the same mode, which takes effect at once."""
        return type(self)(self.mode)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


# --- inference mode ---

class inference_mode(_Scope):
    """Like `no_grad`, but tensors made inside can never enter a graph, which saves bookkeeping.

    `inference_mode(False)` inside is normal mode again, with gradient recording on.

    >>> with inference_mode(): is_inference_mode_enabled(), is_grad_enabled()
    (True, False)
    """

    __slots__ = ("_before", "mode")

    _before: tuple[bool, bool, bool, bool]

    def __new__(cls, mode: Any = True) -> Any:
        return _new(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        inference = self.mode
        self._before = (tls.inference, tls.grad_enabled, tls.fwd_grad_enabled, tls.multithreading)
        state.set_flag("inference", inference)
        state.set_grad_enabled(not inference)
        tls.fwd_grad_enabled = tls.multithreading = not inference

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        inference, grad, tls.fwd_grad_enabled, tls.multithreading = self._before
        state.set_flag("inference", inference)
        state.set_grad_enabled(grad)

    def clone(self) -> inference_mode:
        """A new scope with the same mode."""
        made: inference_mode = type(self)(self.mode)
        return made


def _enter_inference_mode(mode: bool) -> inference_mode:
    scope: inference_mode = inference_mode(mode)
    scope.__enter__()
    return scope


def _exit_inference_mode(scope: inference_mode) -> None:
    scope.__exit__(None, None, None)


# --- the others ---

def _set_multithreading_enabled(enabled: bool) -> None:
    """Allow backward passes of this thread to use other threads; visible to function modes under the scope."""
    if tls.function_modes and tls.function_disabled < 2:
        hooks.torch_function(_set_multithreading_enabled, (enabled,), {})
    else:
        tls.multithreading = enabled


class set_multithreading_enabled(_Scope):
    """Allow backward passes of this thread to use other threads, immediately; a `with` block restores the previous setting.

    >>> with set_multithreading_enabled(False): is_multithreading_enabled()
    False
    """

    __slots__ = ("mode", "prev")

    def __init__(self, mode: bool) -> None:
        _require_bool("set_multithreading_enabled", mode)
        self.mode = mode
        self.prev = tls.multithreading
        _set_multithreading_enabled(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        _set_multithreading_enabled(self.prev)

    def clone(self) -> set_multithreading_enabled:
        """A new scope with the same mode, which takes effect at once."""
        return type(self)(self.mode)


class _force_original_view_tracking(_Scope):
    """Rebuild a modified view's grad_fn by replaying view ops, immediately; a `with` block restores the previous setting.

    >>> with _force_original_view_tracking(True): is_view_replay_enabled()
    True
    """

    __slots__ = ("mode", "prev")

    def __init__(self, mode: bool) -> None:
        _require_bool("set_view_replay_enabled", mode)
        self.mode = mode
        self.prev = tls.view_replay
        tls.view_replay = mode

    def __call__(self, orig_func: Any) -> Any:
        tls.view_replay = self.prev
        return _decorate(self.clone, orig_func)

    def __enter__(self) -> None:
        tls.view_replay = self.mode

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        tls.view_replay = self.prev

    def clone(self) -> _force_original_view_tracking:
        """A new scope with the same mode, which takes effect at once."""
        return type(self)(self.mode)
