"""Further declarations about functions and scopes that compiling goes over (PyTorch's `torch._dynamo`)."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.compile import breaks, state
from retrograd.compile.backends import find_backend
from retrograd.compile.recorder import recorders
from retrograd.compiler import disable

patch_dynamo_config = state.config.patch


def innermost_fn(fn: Any) -> Any:
    """The function that a compiled or disabled one was made of.

    >>> import retrograd as torch
    >>> innermost_fn(torch.compile(abs)) is abs
    True
    """
    while getattr(fn, "_torchdynamo_orig_callable", None) is not None:
        fn = fn._torchdynamo_orig_callable
    return fn


def run(fn: Any = None) -> Any:
    """A function that runs without anything new being compiled; also a decorator."""
    return run if fn is None else innermost_fn(fn)


def forbid_in_graph(fn: Any) -> Any:
    """A function that must not be reached while a graph is recorded.

    >>> import retrograd as torch
    >>> check = forbid_in_graph(lambda x: x)
    >>> torch.compile(lambda x: check(x + 1))(torch.ones(1))
    Traceback (most recent call last):
        ...
    AssertionError: Attempt to trace forbidden callable <function <lambda> at ...>
    """
    if isinstance(fn, list | tuple):
        return [forbid_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError("forbid_in_graph applies only to callables")

    @functools.wraps(fn)
    def forbidden(*args: Any, **kwargs: Any) -> Any:
        recorder = recorders.current()
        if recorder is not None and recorder.recording:
            raise AssertionError(f"Attempt to trace forbidden callable {fn}")
        return fn(*args, **kwargs)
    return forbidden


def disallow_in_graph(fn: Any) -> Any:
    """A function whose calls are left out of graphs."""
    return [disallow_in_graph(each) for each in fn] if isinstance(fn, list | tuple) else disable(fn)


def nonstrict_trace(traceable_fn: Any) -> Any:
    """Declare that a function may be in a graph: every one may.

    >>> nonstrict_trace(abs) is abs
    True
    """
    if not callable(traceable_fn):
        raise AssertionError("nonstrict_trace expects a callable")
    return traceable_fn


def dont_skip_tracing(fn: Any = None) -> Any:
    """The function itself, since none is skipped; also a decorator with parentheses."""
    return fn if fn is not None else lambda function: function


@contextmanager
def error_on_graph_break(error_on_graph_break: bool) -> Iterator[None]:
    """A scope, or a decorator, in which graph breaks are errors, or are not, whatever `fullgraph` says.

    >>> import retrograd as torch
    >>> @torch.compile
    ... def f(x):
    ...     with error_on_graph_break(True):
    ...         return x if x.sum() > 0 else -x
    >>> f(torch.ones(1))
    Traceback (most recent call last):
        ...
    retrograd.compile.errors.Unsupported: Data-dependent branching
      Explanation: ...
    """
    before = state.strictness.value
    state.strictness.value = bool(error_on_graph_break)
    try:
        yield
    finally:
        state.strictness.value = before


def skip_frame(msg: str = "") -> None:
    """Leave the rest of the call out of graphs."""
    recorder = recorders.current()
    if recorder is not None and recorder.recording:
        recorder.stop(breaks.skipped_frame(msg))


def step_unsupported(msg: str = "") -> None:
    """Leave the rest of the call out of graphs, as if the next instruction could not be compiled."""
    recorder = recorders.current()
    if recorder is not None and recorder.recording:
        recorder.stop("cannot resume from torch._dynamo.step_unsupported()")


def lookup_backend(compiler_fn: Any) -> Callable[..., Any]:
    """The backend of a name; a function is a backend already.

    >>> lookup_backend("eager").__name__
    'eager'
    """
    return find_backend(compiler_fn)


def is_dynamo_disable_recursive(method: Any) -> bool | None:
    """Whether a function was left out together with what it calls; None if it was not left out.

    >>> is_dynamo_disable_recursive(abs), is_dynamo_disable_recursive(disable(lambda: 1))
    (None, True)
    """
    return getattr(method, "_torchdynamo_disable_recursive", None)


def is_dynamo_supported() -> bool:
    """Whether functions can be compiled: they can.

    >>> is_dynamo_supported()
    True
    """
    return True
