"""Where a program was when something happened: stacks that are taken quickly and shown later."""
from __future__ import annotations

import linecache
import sys
import traceback
from types import CodeType, FrameType
from typing import Any

__all__ = ["CapturedTraceback", "format_frame", "format_traceback_short", "gather_traceback", "shorten_filename",
           "symbolize_tracebacks"]


class Frames:
    """The code and the instruction of each frame of a stack, from the innermost out."""

    def __init__(self, frame: FrameType | None) -> None:
        self.places: list[tuple[CodeType, int | None]] = []
        while frame is not None:
            self.places.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back


def gather_traceback(python: bool, script: bool, cpp: bool) -> Frames:
    """The stack at this place.

    >>> len(symbolize_tracebacks([gather_traceback(True, True, False)])[0]) > 0
    True
    """
    return Frames(sys._getframe(1) if python else None)


def symbolize_tracebacks(tracebacks: list[Any]) -> list[list[dict[str, Any]]]:
    """The frames of stacks: name, file and line of each, from the innermost out."""
    return [[{"name": code.co_name, "filename": code.co_filename, "line": line} for code, line in frames.places]
            for frames in tracebacks]


class CapturedTraceback:
    """A stack that is taken now and shown later.

    >>> "<module>" in str(CapturedTraceback.extract().summary())
    True
    """

    __slots__ = ("frames", "skip")

    def __init__(self, frames: Frames | None, skip: int = 0) -> None:
        self.frames, self.skip = frames, skip

    @staticmethod
    def extract(*, script: bool = False, cpp: bool = False, skip: int = 0) -> CapturedTraceback:
        """The stack at this place, without its `skip` innermost frames."""
        if script or cpp:
            if skip:
                raise AssertionError("skip with script/cpp NYI")
        return CapturedTraceback(Frames(sys._getframe(1)), skip)

    def summary(self) -> traceback.StackSummary:
        """The frames, from the outermost in."""
        if self.frames is None:
            return traceback.StackSummary()
        places = self.frames.places[self.skip:]
        return traceback.StackSummary.from_list(
            [(code.co_filename, line or 0, code.co_name, linecache.getline(code.co_filename, line or 0).strip() or None)
             for code, line in reversed(places)])

    def format(self) -> list[str]:
        """The lines of text that show the frames."""
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tbs: list[CapturedTraceback | None]) -> list[Any]:
        """The lines of several stacks."""
        return [None if tb is None else tb.format() for tb in tbs]

    def __getstate__(self) -> Any:
        return None, {"frames": None, "skip": self.skip}      # frames do not travel to other processes


def shorten_filename(fn: str, *, base: str | None = None) -> str:
    """A file's name without the folder that the package lies in.

    >>> shorten_filename("/a/b/c.py", base="/a")
    'b/c.py'
    """
    base = __file__.rpartition("/utils/")[0] if base is None else base
    common = 0
    parts, others = fn.split("/"), base.split("/")
    while common < min(len(parts), len(others)) and parts[common] == others[common]:
        common += 1
    return fn if common <= 1 else "/".join(parts[common:])


def format_frame(frame: Any, *, base: str | None = None, line: bool = False) -> str:
    """One frame as `file:line in name`."""
    extra = f"  # {frame.line}" if line else ""
    return f"{shorten_filename(frame.filename, base=base)}:{frame.lineno} in {frame.name}{extra}"


def format_traceback_short(tb: Any) -> str:
    """The frame that an exception's traceback ends with."""
    return format_frame(traceback.extract_tb(tb)[-1])
