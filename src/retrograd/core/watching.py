"""Attributes and plain methods of Tensor in the form that subclasses and modes can override; see NOTE [What a subclass
costs] in subclass.py.

An attribute is read through its descriptor's C slot, which ignores subclasses: these have descriptors of their own.
`Tensor.grad.__get__` is an entry in the descriptor's dictionary, which Python finds before the slot and which dispatches to
the class of its tensor.
"""
from __future__ import annotations

import os
import sys
from types import MethodType
from typing import Any

from retrograd.core.state import switches, tls
from retrograd.core.subclass import OVERLAYS, Watching, overrides_function, through_function
from retrograd.core.tensor import FLAG_SUBCLASS, Tensor

SPECIAL = ("__get__", "__set__", "__delete__")


def is_watched(t: Tensor) -> bool:
    """Whether a mode or the class of `t` overrides functions."""
    if tls.function_modes and tls.function_disabled < 2:
        return True
    return not tls.function_disabled and overrides_function(type(t))


class Attribute(property):
    """An attribute of tensors with a qualified name, as in PyTorch: `TensorBase.grad`."""

    __name__: str
    __qualname__: str


def attribute(name: str, declared: property) -> Attribute:
    """The descriptor of an attribute of Tensor, whose `__get__` and `__set__`, when called explicitly, dispatch to
    subclasses."""
    made = named(name, Attribute(declared.fget, declared.fset, declared.fdel, declared.__doc__))

    def special(method: str, plain: Any) -> Any:
        def ask(self: Any, t: Tensor, *args: Any) -> Any:
            if t is not None and (t._flags & FLAG_SUBCLASS or switches.function_modes) and is_watched(t):
                return through_function(getattr(made, method), (t, *args), {}, (type(t),))
            return plain(self, t, *args)
        ask.__name__ = ask.__qualname__ = method
        return MethodType(ask, made)
    made.__dict__.update({method: special(method, getattr(property, method)) for method in SPECIAL})

    def delete(t: Tensor) -> None:
        made.__delete__(t)
    overlay = named(name, Attribute(lambda t: made.__get__(t), lambda t, value: made.__set__(t, value), delete, made.__doc__))
    overlay.__dict__.update({method: getattr(made, method) for method in SPECIAL})
    OVERLAYS[name] = overlay
    return made


def named(name: str, descriptor: Attribute) -> Attribute:
    descriptor.__name__ = name
    descriptor.__qualname__ = f"Tensor.{name}" if name.startswith("__") else f"TensorBase.{name}"      # Python code in PyTorch
    return descriptor


def seen_method(name: str, method: Any) -> Any:
    """A method of Tensor that subclasses and modes can override."""
    def seen(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if (self._flags & FLAG_SUBCLASS or switches.function_modes) and is_watched(self):
            return through_function(seen, (self, *args), kwargs, (type(self),))
        return method(self, *args, **kwargs)
    seen.__name__ = seen.__qualname__ = name
    seen.__module__, seen.__doc__ = "torch", method.__doc__
    seen.__wrapped__ = method  # type: ignore[attr-defined]
    return seen


# ---- attributes and methods that are trivial on plain tensors
LAYERS = ("core", "ops", "autograd", "transforms", "compile")
HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
INSIDE = tuple([os.path.join(HOME, layer) for layer in LAYERS])


def is_inside(depth: int) -> bool:
    """Whether the caller is internal code, which reads attributes where PyTorch uses C++."""
    return sys._getframe(depth + 1).f_code.co_filename.startswith(INSIDE)


class WatchedAttribute(Attribute):
    """An attribute of tensors while a function mode is on."""


def watched_attribute(name: str, plain: Any) -> WatchedAttribute:
    """The attribute `plain` in the form that modes can override."""
    def through(t: Tensor, method: str, *args: Any) -> Any:
        special = getattr(plain, method)
        if is_inside(2) or not is_watched(t):
            return special(t, *args)
        return through_function(special, (t, *args), {}, (type(t),))

    def delete(t: Tensor) -> None:
        through(t, "__delete__")
    made = WatchedAttribute(lambda t: through(t, "__get__"), lambda t, value: through(t, "__set__", value), delete,
                            plain.__doc__)
    named(name, made).__dict__.update({method: getattr(plain, method) for method in SPECIAL})
    return made


class WatchedMethod:
    """A trivial method of tensors while a function mode is on; access through the class gives the method itself."""

    def __init__(self, plain: Any, typed: bool) -> None:
        self.plain, self.typed = plain, typed

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self.plain
        return MethodType(self.call, instance)

    def call(self, t: Tensor, *args: Any, **kwargs: Any) -> Any:
        if is_inside(1) or not is_watched(t):
            return self.plain(t, *args, **kwargs)
        return through_function(self.plain, (t, *args), kwargs, (type(t),) if self.typed else None)


def watch(attributes: Any, methods: Any, untyped: Any) -> None:
    """Build the mode-visible forms of Tensor's current attributes and methods; those in `untyped` pass no types."""
    members = vars(Tensor)
    Watching.plain.update({name: members[name] for name in (*attributes, *methods)})
    Watching.watched.update({name: watched_attribute(name, members[name]) for name in attributes})
    Watching.watched.update({name: WatchedMethod(members[name], name not in untyped) for name in methods})
