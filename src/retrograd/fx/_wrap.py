"""Functions that tracing records as calls instead of looking into them."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

wrapped_names: dict[tuple[int, str], dict[str, Any]] = {}     # (id of a module's globals, name) -> those globals
wrapped_methods: list[tuple[type, str]] = []


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Let tracing record calls of a function of the module that this is called in; also a decorator.

    >>> import retrograd as torch
    >>> @torch.fx.wrap
    ... def my_scale(x, n):
    ...     return x * (2 if n > 3 else 1)
    >>> torch.fx.symbolic_trace(lambda x, n: my_scale(x, n)).graph.find_nodes(op="call_function", target=my_scale)
    [my_scale]
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(f"Unsupported type for global function! Must be either a callable or string name, got "
                           f"{type(fn_or_name)}")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    caller = frame.f_back
    if caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    wrapped_names[(id(caller.f_globals), name)] = caller.f_globals
    return fn_or_name


wrap.__module__ = "torch.fx._symbolic_trace"
