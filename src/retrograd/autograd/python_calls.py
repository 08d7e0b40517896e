"""The calls of Python functions, built-in functions and modules that a profiler with `with_stack` records."""
from __future__ import annotations

import os
import sys
from time import perf_counter_ns
from typing import Any

import numpy as np

from retrograd.autograd.profiler_inputs import TensorMetadata

__all__ = ["FrameState", "ModuleInfo", "PythonCall", "PythonCalls"]

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARY, NUMPY = os.path.dirname(os.__file__), os.path.dirname(np.__file__)
MODULE_CALL = ("_wrapped_call_impl", os.path.join("nn", "modules", "_hooks.py"))    # what calls of modules go through


class FrameState:
    """A place in a program."""

    __slots__ = ("file_name", "function_name", "line_number")

    def __init__(self, file_name: str, line_number: int, function_name: str) -> None:
        self.file_name, self.line_number, self.function_name = file_name, line_number, function_name


class ModuleInfo:
    """A module that is called: its class, and its own parameters with their gradients."""

    __slots__ = ("cls_name", "cls_ptr", "parameters", "self_ptr")

    def __init__(self, module: Any) -> None:
        self.cls_name, self.cls_ptr, self.self_ptr = type(module).__name__, id(type(module)), id(module)
        self.parameters = [(name, TensorMetadata(p), None if p.grad is None else TensorMetadata(p.grad))
                           for name, p in module._parameters.items() if p is not None]


class PythonCall:
    """One call: of a function, of a built-in one (`callsite` is None), or of a module."""

    __slots__ = ("caller", "callsite", "module", "optimizer")

    def __init__(self, callsite: FrameState | None, caller: FrameState | None, module: ModuleInfo | None = None) -> None:
        self.callsite, self.caller, self.module, self.optimizer = callsite, caller, module, None


class PythonCalls:
    """Follows the calls of one thread, from those that are under way at the beginning on.

    Functions of this package are passed over, modules excepted; and with them what they call of Python's library and of
    NumPy. Imports are passed over too: most are the package's own, on first use.
    """

    def __init__(self, new_record: Any) -> None:
        self.new_record = new_record                        # (name, call) -> a record whose time has begun
        self.under_way: list[tuple[int, Any, str]] = []     # of each the frame, its record or None, and who passes it over
        self.numbers: dict[str, dict[int, int]] = {}        # class -> module -> its number, in the order of first calls
        self.kinds: dict[str, str] = {}
        self.before: Any = None

    def start(self) -> None:
        frames = []
        frame: Any = sys._getframe(1)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        for frame in reversed(frames):
            self.enter(frame)
        self.before = sys.getprofile()
        sys.setprofile(self.seen)

    def stop(self) -> None:
        sys.setprofile(self.before)

    def seen(self, frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            self.enter(frame)
        elif event == "return":
            self.leave(id(frame))
        elif event == "c_call":
            hidden = self.hidden_by()
            record = None if hidden else self.new_record(repr(arg), PythonCall(None, state_of(frame)))
            self.under_way.append((-id(frame), record, hidden))
        else:
            self.leave(-id(frame))

    def hidden_by(self) -> str:
        return self.under_way[-1][2] if self.under_way else ""

    def enter(self, frame: Any) -> None:
        code, record = frame.f_code, None
        kind = self.kinds.get(code.co_filename)
        if kind is None:
            kind = self.kinds[code.co_filename] = kind_of(code.co_filename)
        above = self.hidden_by()
        hidden = kind if kind in ("package", "import") else above if above == "import" or kind == "library" else ""
        if not hidden:
            here = state_of(frame)
            record = self.new_record(f"{shortened(code.co_filename)}({code.co_firstlineno}): {code.co_name}",
                                     PythonCall(here, state_of(frame.f_back)))
        elif code.co_name == MODULE_CALL[0] and kind == "package" and code.co_filename.endswith(MODULE_CALL[1]):
            module = frame.f_locals["self"]
            info = ModuleInfo(module)
            numbers = self.numbers.setdefault(info.cls_name, {})
            number = numbers.setdefault(info.self_ptr, len(numbers))
            record = self.new_record(f"nn.Module: {info.cls_name}_{number}",
                                     PythonCall(state_of(frame), state_of(frame.f_back), info))
        self.under_way.append((id(frame), record, hidden))

    def leave(self, key: int) -> None:
        if not any([entry[0] == key for entry in reversed(self.under_way)]):
            return                              # it was called before the first that is followed
        while True:
            found, record, _ = self.under_way.pop()
            if record is not None:
                record.end = perf_counter_ns()
            if found == key:
                return


def kind_of(path: str) -> str:
    """Whose a file is: the package's, the import system's, a library's that the package uses, or the user's."""
    if path.startswith(PACKAGE):
        return "package"
    if "importlib" in path:
        return "import"
    own = path.startswith(LIBRARY) and not path.startswith(os.path.join(LIBRARY, "site-packages"))
    return "library" if own or path.startswith(NUMPY) else "user"


def state_of(frame: Any) -> FrameState | None:
    if frame is None:
        return None
    return FrameState(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def shortened(path: str) -> str:
    """A file's name below the longest folder of `sys.path` that holds it."""
    folders = [folder for folder in sys.path if folder and path.startswith(folder.rstrip(os.sep) + os.sep)]
    best = max(folders, key=len, default="")
    return path[len(best):].lstrip(os.sep) if best else path
