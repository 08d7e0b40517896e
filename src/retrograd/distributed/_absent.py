"""Names of the distributed package that can be imported, tested with isinstance and subclassed, but not used."""
from __future__ import annotations

from typing import Any

REASON = ("the distributed package is not built in: retrograd computes in one process, and torch.distributed.is_available() is "
          "False. Guard distributed code with is_available() and is_initialized()")


def absent(module: str, *names: str) -> dict[str, Any]:
    """Classes, by names that start with a capital letter, and functions that raise when they are called. `Class.name` is
    such a function of a class that was named before.

    >>> made = absent("torch.distributed.somewhere", "Thing", "Thing.make")
    >>> isinstance(1, made["Thing"]), callable(made["Thing"].make)
    (False, True)
    """
    made: dict[str, Any] = {}
    for name in names:
        owner, _, last = name.rpartition(".")
        if owner:
            setattr(made[owner], last, staticmethod(absent_function(module, name)))
        else:
            made[name] = (absent_class if name.lstrip("_")[0].isupper() else absent_function)(module, name)
    return made


def absent_class(module: str, name: str) -> type:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} cannot be made: {REASON}.")
    bases = (BaseException,) if name.endswith(("Exception", "Error")) else ()       # named in `except` clauses
    return type(name, bases, {"__module__": module, "__init__": refuse, "__doc__": f"Not available: {REASON}."})


def absent_function(module: str, name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{name} cannot be called: {REASON}.")
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"Not available: {REASON}."
    return function
