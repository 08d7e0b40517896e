"""torch.jit with its compiler switched off: functions and modules run as the Python that they are.

PyTorch does the same where PYTORCH_JIT=0 is set: `script` and `trace` give back what they get, `fork` runs at once, and
what needs a compiled module (`save`, `load`) raises.
"""
from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Callable
from contextlib import ContextDecorator
from importlib import import_module
from typing import Any, Final

from retrograd.futures import Future
from retrograd.jit._state import current

__all__ = ["Attribute", "CompilationUnit", "Error", "Final", "Future", "ScriptFunction", "ScriptModule",
           "annotate", "enable_onednn_fusion",
           "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load",
           "onednn_fusion_enabled",
           "optimize_for_inference", "save", "script", "script_if_tracing", "script_method", "set_fusion_strategy",
           "strict_fusion", "trace", "trace_module", "unused", "wait"]


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
    """Whether the graph of a run is being made, by `_get_trace_graph`."""
    return current.state is not None


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Call a function now and return its result as a future.

    >>> wait(fork(max, 1, 2))
    2
    """
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """The result of a future."""
    if not builtins.isinstance(future, Future):
        raise TypeError(f"wait(): incompatible function arguments. It takes what fork() returned, not {type(future).__name__}")
    return future.wait()


class Error(RuntimeError):
    """An error of compiled code, of which there is none."""


JITException = Error


class TracerWarning(Warning):
    """A warning about a traced function; no function is traced."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Do not show those of libraries."""


class CompilationUnit:
    """Compiled functions, of which there are none."""

    def __init__(self, lang: Any = None, _frames_up: int = 0) -> None:
        needs_compiler()


class ScriptObject:
    """An instance of a compiled class, of which there is none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(f"torch._C.{type(self).__name__}: No constructor defined!")


class ScriptFunction(ScriptObject):
    """A compiled function, of which there is none: a Python function is no instance."""


class ScriptMethod(ScriptObject):
    """A method of a compiled module, of which there is none."""


def _overload(func: Callable[..., Any]) -> Callable[..., Any]:
    """The signature of one overload, which a compiler reads; the last definition of the name is what runs."""
    return func


_overload_method = interface = _overload


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of a type such as `list[int]`, its elements included.

    >>> isinstance([1, 2], list[int]), isinstance([1, "a"], list[int]), isinstance({"a": 1}, dict[str, int])
    (True, False, True)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, one) for one in target_type)
    origin, parts = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return target_type is Any or builtins.isinstance(obj, target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, one) for one in parts)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(obj) == len(parts) and all(map(isinstance, obj, parts))
    if origin is dict:
        return all(isinstance(key, parts[0]) and isinstance(value, parts[1]) for key, value in obj.items())
    return all(isinstance(item, parts[0]) for item in obj)


class strict_fusion(ContextDecorator):
    """A scope that a compiler would fuse into one kernel."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


def set_fusion_strategy(strategy: Any) -> list[tuple[str, int]]:
    """How a compiler fuses; returns the strategy before."""
    return [("STATIC", 2), ("DYNAMIC", 10)]


def onednn_fusion_enabled() -> bool:
    """Whether a compiler fuses by oneDNN.

    >>> onednn_fusion_enabled()
    False
    """
    return False


def enable_onednn_fusion(enabled: bool) -> None:
    """Let a compiler fuse by oneDNN, which there is none of."""


def __getattr__(name: str) -> Any:
    if name in ("RecursiveScriptModule", "ScriptModule"):       # of its own file, because it needs nn
        return import_module("retrograd.jit.module").ScriptModule
    if name == "_get_trace_graph":
        return import_module("retrograd.jit._trace_graph").get_trace_graph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def needs_compiler(*args: Any, **kwargs: Any) -> Any:
    """Stands for what needs a compiled module.

    >>> save(None, "model.pt")
    Traceback (most recent call last):
    RuntimeError: TorchScript files hold compiled modules, which retrograd does not have. torch.save(module.state_dict(), ...
    """
    raise RuntimeError("TorchScript files hold compiled modules, which retrograd does not have. "
                       "torch.save(module.state_dict(), path) saves what a module has learnt")


load = save = needs_compiler


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module itself."""
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module itself."""
    return mod
