"""`argnums`: the arguments to differentiate with respect to."""
from __future__ import annotations

from typing import Any


def argument_paths(argnums: Any, args: tuple[Any, ...]) -> tuple[int, ...]:
    """The positions in `argnums`, checked and non-negative."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, int):
        return (checked(argnums, len(args)),)
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    for argnum in argnums:
        if not isinstance(argnum, int):
            raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    places = tuple([checked(argnum, len(args)) for argnum in argnums])
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {places}")
    return places


def checked(argnum: int, count: int) -> int:
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def select_arguments(args: tuple[Any, ...], argnums: Any, places: tuple[int, ...]) -> Any:
    """The argument at `argnums`, or the tuple of them if that is one."""
    return args[places[0]] if isinstance(argnums, int) else tuple([args[i] for i in places])


def replace_arguments(args: tuple[Any, ...], argnums: Any, places: tuple[int, ...], new: Any) -> tuple[Any, ...]:
    """All arguments, with `new` replacing those selected by `select_arguments`."""
    values = list(args)
    for place, value in zip(places, (new,) if isinstance(argnums, int) else new, strict=True):
        values[place] = value
    return tuple(values)
