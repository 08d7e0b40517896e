"""`ops.profiler`: named ranges opened and closed by hand, which profilers show and dispatch modes of programs see."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.core.state import tls


class RangeOp:
    """One overload of an op without tensors; a call of it goes to the innermost dispatch mode of a program.

    >>> from retrograd import ops
    >>> ops.profiler._record_function_enter_new.default
    <OpOverload(op='profiler._record_function_enter_new', overload='default')>
    """

    namespace = "profiler"

    def __init__(self, opname: str, overload: str, run: Callable[..., Any]) -> None:
        self._opname, self._overloadname, self._run = opname, overload, run
        self.__name__ = f"{opname}.{overload}"
        self.__qualname__ = self.name()
        self.__module__ = "torch._ops.profiler"
        self.overloadpacket = self._overloadpacket = RangePacket(self)

    def name(self) -> str:
        return f"profiler::{self._opname}" + ("" if self._overloadname == "default" else f".{self._overloadname}")

    def __call__(self, *args: Any) -> Any:
        modes = tls.dispatch_modes
        if not modes or not sees_ranges(modes[-1]):
            return self._run(*args)
        mode = modes.pop()
        below, tls.below = tls.below, True
        try:
            return mode.__torch_dispatch__(self, (), args, {})
        finally:
            tls.below = below
            modes.append(mode)

    def __str__(self) -> str:
        return f"profiler.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='profiler.{self._opname}', overload='{self._overloadname}')>"


class RangePacket:
    """The name of an op of ranges, with one overload."""

    def __init__(self, op: RangeOp) -> None:
        self._op, self._qualified_op_name = op, f"profiler::{op._opname}"
        setattr(self, op._overloadname, op)
        self.__name__ = op._opname

    def overloads(self) -> list[str]:
        return [self._op._overloadname]

    def __call__(self, *args: Any) -> Any:
        while args and args[-1] is None:        # defaults are not passed on
            args = args[:-1]
        return self._op(*args)

    def __str__(self) -> str:
        return f"profiler.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


def sees_ranges(mode: Any) -> bool:
    """Whether ranges go to a mode: to those of programs, and to those of the library that say so."""
    said = getattr(mode, "_sees_ranges", None)
    return not type(mode).__module__.startswith(("retrograd.", "torch.")) if said is None else bool(said)


def enter(name: str, args: str | None = None) -> tuple[Any, ...]:
    """Open a range; a no-op while no profiler is active."""
    recorder = tls.profiler
    return recorder, None if recorder is None else recorder.begin_range(name)


def leave(handle: tuple[Any, ...]) -> None:
    """Close the range of a handle."""
    recorder, record = handle
    if recorder is not None:
        recorder.end_of(record)


class RangeOps:
    """The namespace `ops.profiler`."""

    def __init__(self) -> None:
        self._record_function_enter = RangeOp("_record_function_enter", "default", enter).overloadpacket
        self._record_function_enter_new = RangeOp("_record_function_enter_new", "default", enter).overloadpacket
        self._record_function_exit = RangeOp("_record_function_exit", "_RecordFunction", leave).overloadpacket
