"""What the functions of nn share: letting subclasses and modes take over, and access to ops that have no public name."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from retrograd import ops
from retrograd.overrides import handle_torch_function, has_torch_function, may_override


def overridable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let arguments with `__torch_function__`, and modes, see calls of a function."""
    look = may_override or has_torch_function         # a quick look, in the compiled core

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        relevant = (*args, *kwargs.values()) if kwargs else args
        if look(relevant) and has_torch_function(relevant):
            positional, named = declared_form(function, args, kwargs)
            return handle_torch_function(public, relevant, *positional, **named)
        return function(*args, **kwargs)
    return public


def declared_form(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as handlers get them: those without a default by position, all others by name.

    >>> declared_form(lambda input, p=0.5, training=True: None, (1, 0.2), {})
    ([1], {'p': 0.2, 'training': True})
    """
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    required = [name for name, p in signature.parameters.items() if p.default is p.empty]
    return [bound.arguments.pop(name) for name in required], dict(bound.arguments)


def aten(name: str, module: str = __name__, doc: str = "") -> Callable[..., Any]:
    """The op `name` as a function of `module`; by default of the one that publishes the functions of nn."""
    packet = getattr(ops.aten, name)

    def general(*args: Any, **kwargs: Any) -> Any:
        relevant = (*args, *kwargs.values()) if kwargs else args
        if has_torch_function(relevant):
            return handle_torch_function(function, relevant, *args, **kwargs)
        return packet(*args, **kwargs)
    function = packet.function(name, general)
    function.__module__ = module
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or f"The op {name}; its arguments are those of its schema."
    return function


def forms(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The op `name` and its in-place form: `forms(name)[inplace]` is what a function with that argument calls."""
    return aten(name), aten(name + "_")
