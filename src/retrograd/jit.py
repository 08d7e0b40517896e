"""torch.jit with its compiler switched off: functions and modules run as the Python that they are.

PyTorch does the same where PYTORCH_JIT=0 is set: `script` and `trace` give back what they get, `fork` runs at once, and
what needs a compiled module (`save`, `freeze`) does not exist.
"""
from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any, Final

__all__ = ["Attribute", "Final", "Future", "annotate", "export", "fork", "ignore", "is_scripting", "is_tracing", "script",
           "script_if_tracing", "script_method", "trace", "trace_module", "unused", "wait"]


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """The function, class or module itself.

    >>> @script
    ... def double(x):
    ...     return x * 2
    >>> double(3)
    6
    """
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The function or module itself: every call runs it anew, branches included."""
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """The module itself."""
    return mod


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator, with or without arguments, that changes nothing here."""
    return drop if callable(drop) else lambda fn: fn


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value; the type is for readers."""
    return the_value


class Attribute(typing.NamedTuple):
    """A value and the type that a compiler would give it."""

    value: Any
    type: Any


def is_scripting() -> bool:
    """Whether compiled code is running.

    >>> is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Whether a function is being traced; it never is."""
    return False


class Future:
    """The result of `fork`, which is there already."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def done(self) -> bool:
        return True

    def value(self) -> Any:
        return self._value

    def wait(self) -> Any:
        return self._value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future with what `callback` makes of this one."""
        return Future(callback(self))


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call a function now and return its result as a future.

    >>> wait(fork(max, 1, 2))
    2
    """
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """The result of a future."""
    if not isinstance(future, Future):
        raise TypeError(f"wait(): incompatible function arguments. It takes what fork() returned, not {type(future).__name__}")
    return future.wait()
