"""The recorder: records the ops of a compiled function and matches them with earlier calls.

NOTE [Python always runs]
A compiled function runs as Python every time, and its ops run eagerly, so results, errors and side effects are those of an
uncompiled call. The record is split into segments where Python reads a value or does something that a graph cannot hold (a
graph break). A new segment becomes an fx graph and goes to the backend.

NOTE [Sizes of a segment]
The key of a segment has its ops, their connections, dtypes, numbers of dimensions and constants. The sizes of its inputs
and the integers and floats among its arguments are a separate list. A Variant is a segment with its list of sizes, in which
None is a symbol. With `dynamic=None` all sizes are fixed at first and those that change are symbols in the next variant; with
`dynamic=True` they are symbols from the start. Sizes of 0 and 1, infinities and NaN are never symbols, floats only once they
have changed.
"""
from __future__ import annotations

import builtins
import contextlib
import itertools
import math
import threading
import traceback
import weakref
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from operator import itemgetter
from typing import Any

from retrograd.compile import breaks, state, steps
from retrograd.compile.deferred import Weight
from retrograd.compile.errors import Unsupported
from retrograd.core.graph import sequence
from retrograd.core.hooks import hooks as services
from retrograd.core.modes import TorchDispatchMode, remove_mode
from retrograd.core.opdef import OpDef
from retrograd.core.state import add_slow_path, tls
from retrograd.core.tensor import FLAG_SUBCLASS, Tensor, wants_grad


class Event:
    """One op call: the op and its arguments, with tensors as value numbers."""

    __slots__ = ("args", "function", "kwargs", "line", "result")

    def __init__(self, function: Any, args: Any, kwargs: Any, result: Any, line: str) -> None:
        self.function, self.args, self.kwargs, self.result, self.line = function, args, kwargs, result, line


class Value:
    """A tensor of the segment, by number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Size:
    """An integer or float of the segment, by number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Variant:
    """A compiled segment, for sizes that are fixed or symbolic (None)."""

    def __init__(self, sizes: list[Any], number: int, given: list[Any]) -> None:
        self.sizes, self.number = sizes, number
        self.dynamic = any([size is None and type(n) is int for size, n in zip(sizes, given, strict=True)])
        self.compiled: Any = None
        self.graph: Any = None                    # its SegmentGraph
        self.calls = 0

    def misfits(self, segment: Segment) -> list[str]:
        """Why it cannot be used for a segment."""
        return [f"{source} expected {'a size of at least 2' if old is None else old}, actual {new}"
                for old, new, source in zip(self.sizes, segment.sizes, segment.sources, strict=True)
                if not (can_be_symbol(new) if old is None else is_same_number(old, new))]

    def fits(self, sizes: list[Any]) -> bool:
        return all([can_be_symbol(new) if old is None else is_same_number(old, new)
                    for old, new in zip(self.sizes, sizes, strict=True)])


def can_be_symbol(number: int | float) -> bool:
    return number > 1 if type(number) is int else math.isfinite(number)


def is_same_number(a: int | float, b: int | float) -> bool:
    """Whether two numbers are the same constant: NaN equals itself, and the zeros of both signs differ."""
    return a == b if type(a) is int else repr(a) == repr(b)


class Segment:
    """A sequence of ops between graph breaks."""

    def __init__(self) -> None:
        self.first_node = sequence.n              # the number of the last node recorded before it
        self.events: list[Event] = []
        self.key: list[Any] = []
        self.sizes: list[Any] = []                # integers and floats
        self.sources: list[str] = []              # where each comes from, for messages
        self.marked: set[int] = set()             # sizes that the program declared dynamic
        self.fixed: set[int] = set()              # and those that it declared static
        self.count = 0                            # number of values
        self.known: dict[int, tuple[int, Any]] = {}       # id of a tensor -> its number and a reference to it
        self.inputs: dict[int, Any] = {}          # number -> a tensor from outside
        self.states: list[tuple[int, int]] = []   # the id of the array, and the version, that each of them had
        self.results: dict[int, Any] = {}         # number -> a weak reference to a computed tensor
        self.root: Any = None                     # the gradient that a captured pass starts with, if nothing came before it

    def find(self, t: Any) -> int | None:
        found = self.known.get(id(t))
        return found[0] if found is not None and found[1]() is t else None

    def number_of(self, t: Any) -> Value:
        number = self.find(t)
        if number is None:
            number = self.count
            self.count += 1
            self.known[id(t)] = number, lambda: t
            self.inputs[number] = t
            self.states.append(state_of(t))
            self.key.append(("input", number, t.array.dtype.str, t.array.ndim, wants_grad(t), type(t).__name__))
            marks = getattr(t, "_dynamo_dynamic_indices", None) or ()
            static = getattr(t, "_dynamo_static_indices", None) or ()
            for dim, n in enumerate(t.array.shape):
                if dim in marks:
                    self.marked.add(len(self.sizes))
                if dim in static:
                    self.fixed.add(len(self.sizes))
                self.sizes.append(n)
                self.sources.append(f"input {len(self.inputs) - 1} size mismatch at index {dim}.")
        return Value(number)

    def template(self, value: Any) -> Any:
        """The recorded form of an argument."""
        if isinstance(value, Tensor):
            return self.number_of(value)
        if isinstance(value, tuple | list):
            return [self.template(item) for item in value]
        if isinstance(value, dict):
            return {key: self.template(item) for key, item in value.items()}
        if type(value) is int and value > 1 or type(value) is float:
            self.sizes.append(value)
            self.sources.append(f"argument of op {len(self.events)} mismatch.")
            return Size(len(self.sizes) - 1)
        return value

    def add(self, function: Any, args: Any, kwargs: Any, result: Any, line: str) -> None:
        args, kwargs = [self.template(a) for a in args], self.template(kwargs)
        self.key.append((function, self.frozen(args), self.frozen(kwargs)))
        self.events.append(Event(function, args, kwargs, self.note(result), line))

    def frozen(self, template: Any) -> Any:
        """A template as part of a key."""
        if type(template) is Value:
            return "value", template.number
        if type(template) is Size:
            return type(self.sizes[template.number])
        if isinstance(template, list):
            return tuple([self.frozen(item) for item in template])
        if isinstance(template, dict):
            return tuple([(key, self.frozen(item)) for key, item in template.items()])
        if isinstance(template, float | complex | int):
            return type(template), repr(template)
        return template if getattr(type(template), "__hash__", None) is not None else (type(template), id(template))

    def note(self, result: Any) -> Any:
        """Number the tensors of a result."""
        if isinstance(result, Tensor):
            number = self.find(result)
            if number is None:
                number = self.count
                self.count += 1
                self.results[number] = weakref.ref(result)
                self.known[id(result)] = number, self.results[number]
            return Value(number)
        return [self.note(item) for item in result] if isinstance(result, tuple | list) else result

    def is_pure(self) -> bool:
        """Whether running the ops again does the same, without side effects: kernels and classes of a program may do
        anything, and inputs may have been results of ops with `out=`."""
        return not any([type(event.function) is not OpDef or event.function._schema.is_mutable for event in self.events]
                       ) and not any([sees_ops(t) for t in self.inputs.values()]) and all(
            [state_of(t) == before for t, before in zip(self.inputs.values(), self.states, strict=True)])

    def functions(self) -> tuple[Any, ...]:
        """The ops alone: segments with the same ones differ in their inputs and constants."""
        return tuple([event.function for event in self.events])

    def living(self) -> list[int]:
        return [number for number, reference in self.results.items() if reference() is not None]


def state_of(t: Any) -> tuple[int, int]:
    """The array of a tensor, which is not held (`resize_` counts references), and how often it was written to."""
    return id(t.array), 0 if t._counter is None else t._counter.n


def sees_ops(t: Any) -> bool:
    """Whether the class of a tensor is called for ops."""
    return bool(t._flags & FLAG_SUBCLASS) and (type(t).__torch_dispatch__ is not Tensor.__torch_dispatch__
                                               or type(t).__torch_function__ is not Tensor.__torch_function__)


# ---- the cache of a program
class Known:
    """The recorded segments of one code object."""

    def __init__(self) -> None:
        self.variants: dict[Any, list[Variant]] = {}      # (settings, key of a segment) -> its variants
        self.sizes: dict[Any, list[int]] = {}             # key of a segment -> its last sizes
        self.symbols: dict[Any, set[int]] = {}            # key of a segment -> sizes that have changed
        self.is_full = False                              # the recompile limit is reached
        self.compiled: Counter[Any] = Counter()           # (settings, position in the call) -> number of variants
        self.breaks: set[Any] = set()                     # (position in the call, reason) of graph breaks
        self.sequences: set[Any] = set()                  # (settings, position in the call, ops) of those compiled


known_programs: weakref.WeakKeyDictionary[Any, Known] = weakref.WeakKeyDictionary()
variant_numbers: Iterator[int] = itertools.count()


class Spans:
    """Maps the sequence numbers of nodes to the compiled segment that recorded them."""

    LIMIT = 100_000

    def __init__(self) -> None:
        self.items: list[tuple[int, int, Variant]] = []       # (after this number, up to this one, variant)

    def add(self, start: int, end: int, variant: Variant) -> None:
        if end > start:
            items = self.items
            if items and items[-1][1] == start and items[-1][2] is variant:
                items[-1] = items[-1][0], end, variant        # so that a training loop adds nothing
            elif not items or items[-1][0] <= start:
                items.append((start, end, variant))
            else:
                items.insert(bisect_right(items, start, key=itemgetter(0)), (start, end, variant))
            if len(items) > self.LIMIT:
                del items[:self.LIMIT // 2]

    def find(self, number: int) -> Variant | None:
        place = bisect_right(self.items, number - 1, key=itemgetter(0)) - 1
        if place < 0 or number > self.items[place][1]:
            return None
        return self.items[place][2]


spans = Spans()


def variant_of(node: Any) -> Variant | None:
    """The compiled segment that recorded a node."""
    return spans.find(node._seq_)


def forget() -> None:
    known_programs.clear()
    spans.items.clear()


state.when_reset.append(forget)


# ---- recorders
class OfThread(threading.local):
    """The recorder of a thread."""

    recorder: Any = None


class Active:
    """The number of active recorders, and the callbacks on changes."""

    def __init__(self) -> None:
        self.count = 0
        self.changed: Callable[[], None] = lambda: None
        self.by_thread = OfThread()
        self.lock = threading.Lock()
        self.print: Any = builtins.print          # the original `print`

    @property
    def active(self) -> bool:
        return self.count > 0

    def current(self) -> Recorder | None:
        return self.by_thread.recorder

    def is_recording(self) -> bool:
        """Whether ops of this thread are recorded."""
        recorder = self.by_thread.recorder
        return recorder is not None and recorder.recording

    def enter(self, recorder: Recorder) -> None:
        recorder.outer = self.by_thread.recorder
        self.by_thread.recorder = recorder
        with self.lock:
            self.count += 1
            if builtins.print is not seen_print:
                self.print, builtins.print = builtins.print, seen_print
            self.changed()

    def leave(self) -> None:
        self.by_thread.recorder = self.by_thread.recorder.outer
        with self.lock:
            self.count -= 1
            if self.count == 0 and builtins.print is seen_print:
                builtins.print = self.print
            self.changed()


recorders = Active()


def seen_print(*args: Any, **kwargs: Any) -> None:
    """`print` during recording: a graph break."""
    recorder = recorders.current()
    if recorder is None or not recorder.recording:
        recorders.print(*args, **kwargs)
        return
    with recorder.suspended(breaks.PRINT):
        recorders.print(*args, **kwargs)


class Recorder(TorchDispatchMode):
    """Records the ops of one call of a compiled function."""

    _is_hidden = True

    def __init__(self, program: Any) -> None:
        self.program = program                    # compiles segments: see api.py
        self.segment = Segment()
        self.recording = True
        self.breaks = 0
        self.variants: list[Variant] = []         # variants of the segments so far
        self.is_new = False                       # one of them had to be compiled
        self.is_refused = False                   # one of them exceeded the recompile limit
        self.segments = 0                         # number of finished segments
        self.weight = Weight()
        self.grad = tls.grad_enabled              # at the start of the call
        self.outer: Recorder | None = None        # the suspended recorder of this thread

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.recording:
            return func(*args, **kwargs)
        if func.__name__ in VALUES_ASKED:
            self.ask_for_value(func)
            return func(*args, **kwargs)
        self.recording = False                    # ops called by a kernel do not belong to the program
        try:
            result = func(*args, **kwargs)
        finally:
            self.recording = True
        self.weight.add(func, args, result)
        self.segment.add(func, args, kwargs, result, "")
        return result

    def __exit__(self, *exc: Any) -> None:
        remove_mode(self)

    # ---- segments
    def ask_for_value(self, func: Any) -> None:
        """End the segment where Python reads a value; an error in strict mode only if the program branches on it."""
        if breaks.is_branch():
            self.break_graph(breaks.BRANCH.format(op=func))
        elif self.is_strict():
            self.end_segment()
        else:
            self.break_graph(breaks.ITEM.format(op=func))

    def is_strict(self) -> bool:
        """Whether a graph break is an error here."""
        strict = state.strictness.value
        return self.program.fullgraph if strict is None else strict

    def break_graph(self, reason: str) -> None:
        """End the segment at something that a graph cannot hold."""
        if self.is_strict():
            raise Unsupported(f"{reason}\n\nfrom user code:\n{user_lines()}\nThe function was compiled with "
                              "fullgraph=True: take the cause out of it, or compile it without.", reason.partition("\n")[0])
        self.breaks += 1
        steps.graph_breaks.count += 1
        segment = self.segment
        if segment.root is not None and not segment.events:       # the check of the first gradient is a graph of its own
            segment.add(steps.checked, [segment.root], {}, segment.root, "")
        if self.program.reasons is not None:
            self.program.reasons.append(breaks.GraphCompileReason(reason, user_frames()))
        if self.program.is_new_break(self.segments, reason):
            state.counters["graph_break"][reason] += 1
            if state.is_on(state.graph_breaks_log):
                state.graph_breaks_log.debug("Graph break in user code\nGraph Break Reason: %s\nUser code traceback:\n%s",
                                             reason, user_lines())
        self.end_segment()

    def stop(self, reason: str) -> None:
        """Stop recording this call."""
        if self.is_strict():
            raise Unsupported(f"{reason}\n\nfrom user code:\n{user_lines()}", reason.partition("\n")[0])
        self.end_segment()
        self.recording = False

    def end_segment(self) -> None:
        segment, self.segment = self.segment, Segment()
        if segment.events:
            self.recording = False
            try:
                with self.off():
                    self.program.finish(segment, self)
            finally:
                self.recording = True
        self.segment = Segment()

    @contextmanager
    def off(self) -> Iterator[None]:
        """A scope in which this mode is off."""
        modes = tls.dispatch_modes
        place = modes.index(self) if self in modes else -1
        if place >= 0:
            modes.pop(place)
            add_slow_path(-1)
        try:
            yield
        finally:
            if place >= 0:
                modes.insert(place, self)
                add_slow_path(1)

    @contextmanager
    def suspended(self, reason: str) -> Iterator[None]:
        """A graph break whose body is not recorded."""
        self.break_graph(reason)
        self.recording = False
        try:
            with self.off():
                yield
        finally:
            self.recording = True
            self.segment = Segment()


VALUES_ASKED = ("_local_scalar_dense.default", "item.default", "is_nonzero.default")


def end_current_segment() -> None:
    recorder = recorders.current()
    if recorder is not None and recorder.recording:
        recorder.end_segment()


def break_current_graph(reason: str) -> None:
    recorder = recorders.current()
    if recorder is not None and recorder.recording:
        recorder.break_graph(reason)


def unrecorded(reason: str) -> Any:
    """A scope whose ops are not recorded, where graph breaks are allowed; with fullgraph they are recorded as usual."""
    recorder = recorders.current()
    if recorder is None or not recorder.recording or recorder.is_strict():
        return nullcontext()
    return recorder.suspended(reason)


def outside_of_graphs(function: str) -> Any:
    """A scope for the body of a function that reads or writes files: a graph break."""
    recorder = recorders.current()
    return nullcontext() if recorder is None or not recorder.recording else recorder.suspended(breaks.skipped(function))


services.unrecorded = outside_of_graphs


def note_root(grad: Any) -> None:
    recorder = recorders.current()
    if recorder is not None and recorder.recording and not recorder.segment.events and isinstance(grad, Tensor):
        recorder.segment.root = grad


def is_current_broken() -> bool:
    recorder = recorders.current()
    return recorder is not None and recorder.recording and recorder.breaks > 0


steps.graph_breaks.end_segment = end_current_segment
steps.graph_breaks.break_graph = break_current_graph
steps.graph_breaks.is_broken = is_current_broken
steps.graph_breaks.unrecorded = unrecorded
steps.graph_breaks.note_root = note_root


def user_frames() -> list[traceback.FrameSummary]:
    """The innermost frames of the program, excluding those of this library and of its context managers."""
    return [frame for frame in traceback.extract_stack()
            if not frame.filename.startswith(breaks.HOME) and frame.filename != contextlib.__file__][-2:]


def user_lines() -> str:
    return "".join(traceback.StackSummary.from_list(user_frames()).format())
