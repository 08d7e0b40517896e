"""Shortcuts for the commonest views in plain Python: ordinary tensors and plain arguments skip binding and dispatch.

A shortcut returns None for whatever it does not know, errors among it: the general way then says what is wrong.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.api import EXTRA_METHODS, call_named, shortcuts
from retrograd.core.dispatch import make_view
from retrograd.core.state import switches, tls
from retrograd.core.storage import reshaped
from retrograd.core.tensor import Tensor
from retrograd.ops.shared import geometry
from retrograd.ops.views import shape


def quick(name: str) -> Any:
    """Make the decorated shortcut the method called `name`."""
    def register(shortcut: Any) -> Any:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not kwargs and (not switches.any_mode or not tls.slow_path) and isinstance(self, Tensor) and not self._flags:
                made = shortcut(self, args)
                if made is not None:
                    return made
            return call_named(name, (self, *args), kwargs, True, EXTRA_METHODS[name])
        publish(name, method)
        return shortcut
    return register


def publish(name: str, method: Any) -> None:
    if shortcuts is None:             # the compiled core binds all methods quickly
        return
    method.__name__ = method.__qualname__ = name
    method.__module__ = "torch"
    EXTRA_METHODS[name] = method


def integers(args: Any) -> Any:
    """The integers of a call, given one by one or as one sequence; None if they are something else."""
    if len(args) == 1 and type(args[0]) is not int:
        args = args[0]
        if not isinstance(args, (tuple, list)):
            return None
    for n in args:
        if type(n) is not int or n < -1:
            return None
    return args


@quick("reshape")
@quick("view")
def view(self: Any, args: Any) -> Any:
    size = args
    for n in args:
        if type(n) is not int or n < -1:
            size = integers(args)
            break
    made = None if size is None else reshaped(self.array, size)
    return None if made is None else make_view(shape.view, self, (made.shape,), made)


if shortcuts is not None:
    for name in ("reshape", "view"):
        publish(name, shortcuts.reshape_shortcut(shape.view, EXTRA_METHODS[name]))


@quick("transpose")
def transpose(self: Any, args: Any) -> Any:
    array = self.array
    if len(args) != 2 or type(args[0]) is not int or type(args[1]) is not int or not array.ndim or not array.size:
        return None
    try:
        made = array.swapaxes(*args)
    except ValueError:
        return None
    return make_view(shape.transpose, self, args, made)


@quick("t")
def t(self: Any, args: Any) -> Any:
    array = self.array
    if args or array.ndim != 2 or not array.size:
        return None
    return make_view(shape.t, self, (), array.T)


@quick("permute")
def permute(self: Any, args: Any) -> Any:
    array = self.array
    dims = integers(args)
    if dims is None or len(dims) != array.ndim or not array.size or not dims:
        return None
    try:
        made = array.transpose(dims)
    except ValueError:
        return None
    return make_view(shape.permute, self, (tuple(dims),), made)


@quick("expand")
def expand(self: Any, args: Any) -> Any:
    array = self.array
    size = integers(args)
    if not size or not array.size:
        return None
    try:
        made = geometry.expanded(array, size)
    except RuntimeError:
        return None
    return make_view(shape.expand, self, (tuple(size), False), made)


@quick("unsqueeze")
def unsqueeze(self: Any, args: Any) -> Any:
    array = self.array
    if len(args) != 1 or type(args[0]) is not int or not array.flags.c_contiguous or not array.size or 1 in array.shape:
        return None
    dim, sizes = args[0], array.shape
    if dim < 0:
        dim += len(sizes) + 1
    if not 0 <= dim <= len(sizes):
        return None
    return make_view(shape.unsqueeze, self, args, array.reshape(*sizes[:dim], 1, *sizes[dim:]))
