"""The scope in which kernels registered from Python are used, and one in which functionalization is suspended.

PyTorch uses such kernels only in that scope, or where a mode or a subclass returns to Python. Here every kernel is reached
through Python: registered ones are always used, and there are no scopes that turn this off.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import retrograd as torch
from retrograd.core.state import tls
from retrograd.transforms.functionalize import Functional

__all__ = ["all_py_loaded_overloads", "enable_python_dispatcher", "suspend_functionalization"]


def enable_python_dispatcher() -> AbstractContextManager[None]:
    """A scope in which kernels registered from Python are used, as they are everywhere.

    >>> with enable_python_dispatcher(): pass
    """
    return nullcontext()


def all_py_loaded_overloads() -> Iterator[Any]:
    """The overloads of the built-in ops.

    >>> torch.ops.aten.sin.default in set(all_py_loaded_overloads())
    True
    """
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        if hasattr(packet, "overloads"):
            for overload in packet.overloads():
                yield getattr(packet, overload)


@contextmanager
def suspend_functionalization() -> Iterator[None]:
    """A scope in which the innermost `functionalize`, if it is the innermost transform, does not see ops.

    >>> with suspend_functionalization(): pass
    """
    if not (tls.transforms and isinstance(tls.transforms[-1], Functional)):
        yield
        return
    with tls.transforms[-1].beneath():
        yield
