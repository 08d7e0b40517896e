"""Compilation of programs; the package and the function `compile` share a name, and importing the package gives the
function."""
from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def compile(model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: Any = None, mode: str | None = None, options: dict[str, Any] | None = None,
            disable: bool = False) -> Any:
    """Compile a function or module, keeping its behaviour; also a decorator. Its ops are recorded and passed to `backend`
    as fx graphs, one for each sequence that occurs. Anything that a graph cannot hold splits it, or is an error with
    `fullgraph`.

    >>> import retrograd as torch
    >>> @torch.compile
    ... def f(x):
    ...     return torch.sin(x) + 1
    >>> f(torch.zeros(2))
    tensor([1., 1.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(f"Expected dynamic to be a bool, got {type(dynamic)}")
    if model is None:
        def decorate(function: Callable[..., Any]) -> Any:
            if function is None:
                raise RuntimeError("Model can't be None")
            return compile(function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
                           disable=disable)
        return decorate
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    given = {"mode": mode} if mode not in (None, "default", "") else {} if options is None else {"options": options}
    import_module(f"{PACKAGE}.backends").check_options(backend, **given)
    return import_module(f"{PACKAGE}.api").compiled(model, backend, fullgraph, dynamic, given)


# The function replaces the module, both in `sys.modules` and as the attribute of the package.
PACKAGE = __name__
compile.compile = compile           # type: ignore[attr-defined]
module = sys.modules[__name__]
compile.__name__ = __name__         # needed by `from retrograd.compile import recorder`
for name in ("__path__", "__spec__", "__file__", "__package__", "__loader__"):
    setattr(compile, name, getattr(module, name))
sys.modules[__name__] = compile     # type: ignore[assignment]
