"""Deferred execution: ops that are computed element by element wait, and run together as one loop when a value is asked for.

NOTE [What may wait]
Python runs as it always does, and so does autograd: what waits is the kernel. An op waits if its arithmetic is known (the
column `lower`), its operands are float32 or float64 (masks: bool) and the layout of its result has been seen before: then it
cannot fail. Its result is a tensor over memory that has not been written yet, marked by FLAG_PENDING. Everything else runs
at once; what waits runs before it if it is an operand, or if the op writes to memory. Values that nobody holds any more when
the others are asked for are never stored.

Memory that code outside of ops can write to (core/exposed.py) is not read later than in an uncompiled program: ops over
it do not wait. Starting a thread ends the wait. While there are others, the tensors that will be read are marked like those
that will be written: whoever touches one, in any thread, lets everything run first.
"""
from __future__ import annotations

import threading
import weakref
from _thread import _count
from typing import Any

from retrograd.codegen.library import compiler
from retrograd.compile import state
from retrograd.compile.regions import Code, choices_of
from retrograd.compile.waiting import Choice, Event, Waiting
from retrograd.core import dispatch
from retrograd.core.hooks import hooks
from retrograd.core.modes import TorchDispatchMode
from retrograd.core.state import set_grad_enabled, tls
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_PENDING, Tensor, wrap
from retrograd.ops.create.generators import default_generator

MOST_CODES = 2000

facts: dict[Any, tuple[list[Choice], bool]] = {}      # op -> its choices, and whether it writes to its arguments
codes: dict[Any, Any] = {}        # (ops that waited, values that are wanted) -> their Code, None if they came once only


state.when_reset.append(codes.clear)


class Active:
    """The deferrers that are on, in all threads."""

    def __init__(self) -> None:
        self.all: list[Deferrer] = []
        self.start = threading._start_new_thread      # type: ignore[attr-defined]

    def here(self) -> bool:
        """Whether ops of this thread wait."""
        return bool(self.all) and any([isinstance(mode, Deferrer) for mode in tls.dispatch_modes])

    def enter(self, deferrer: Deferrer) -> None:
        self.all.append(deferrer)
        threading._start_new_thread = start_thread    # type: ignore[attr-defined]

    def leave(self, deferrer: Deferrer) -> None:
        self.all.remove(deferrer)
        if not self.all:
            threading._start_new_thread = self.start  # type: ignore[attr-defined]


active = Active()


def start_thread(*args: Any) -> Any:
    """What starts a thread while ops may wait: they do not wait any longer."""
    settle()
    for deferrer in active.all:
        deferrer.waiting.alone = False
    return active.start(*args)


def settle(*tensors: Any) -> None:
    """Run whatever waits; none of `tensors` is pending afterwards."""
    for deferrer in list(active.all):
        deferrer.flush()
    for t in tensors:
        t._flags &= ~FLAG_PENDING


hooks.settle = settle


class Deferrer(TorchDispatchMode):
    """A scope in which ops wait."""

    def __init__(self) -> None:
        self.waiting = Waiting(facts, facts_of, self.run, self.flush)
        self.waiting.alone = _count() == (threading.current_thread() is not threading.main_thread())
        self.lock = threading.RLock()
        self.sources: list[str] | None = None     # gathers the C of what runs, if somebody wants it
        self.before: Any = None

    def __enter__(self) -> Any:
        active.enter(self)
        self.before, tls.deferrer = tls.deferrer, self
        return super().__enter__()

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        tls.deferrer = self.before
        try:
            self.flush()
        finally:
            active.leave(self)

    # ---- ops
    def attempt(self, op: Any, args: Any, records: bool) -> Any:
        """The result of an op if it can wait, else None. Nothing but the list of what waits is locked: ops may run anything."""
        if self.waiting.alone:
            return self.waiting.attempt(op, args, records)
        with self.lock:
            return self.waiting.attempt(op, args, records)

    def _process(self, op: Any, args: Any) -> Any:
        """Do an op that autograd has seen, now or later; `args` are in the order of the schema."""
        result = self.attempt(op, args, False)
        return self.run(op, args, facts[op][1]) if result is None else result

    def take(self, op: Any, args: Any) -> Any:
        """Do an op that autograd has not seen, where this mode is all that watches."""
        result = self.attempt(op, args, True)
        return dispatch.call_layers(op, args) if result is None else result

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.flush()                              # an op that is not of the table
        return func(*args, **(kwargs or {}))

    def run(self, op: Any, args: Any, writes: bool) -> Any:
        """Do an op now, below autograd."""
        if self.waiting.events and (writes or self.touches(args)):
            self.flush()
        modes, was = tls.dispatch_modes, tls.below
        place = modes.index(self)
        del modes[place]
        tls.below = True
        try:
            return op.compute(*args) if op.composite else dispatch.below(op, args)
        finally:
            tls.below = was
            modes.insert(place, self)

    def touches(self, args: Any) -> bool:
        """Whether arguments are waited for or read by what waits, or are such that one cannot tell."""
        find = self.waiting.find
        for value in args:
            for t in value if isinstance(value, list | tuple) else (value,):
                if isinstance(t, Tensor) and (t._flags & ~(FLAG_INFERENCE | FLAG_PENDING) or find(t.array) >= 0):
                    return True
        return False

    # ---- the end of the wait
    def flush(self) -> None:
        """Compute what waits."""
        waiting = self.waiting
        if not waiting.arrays:
            return
        with self.lock:
            events, arrays, tensors = waiting.events, waiting.arrays, waiting.tensors
            numbers, values, key = waiting.numbers, waiting.layouts, tuple(waiting.key)
            waiting.clear()
            held = [array() if type(array) is weakref.ref else array for array in arrays]
            wanted = [event.value for event in events if held[event.value] is not None]
            if wanted:
                self.compute(events, held, numbers, values, key, wanted)
            for reference in tensors:
                t = reference()
                if t is not None:
                    t._flags &= ~FLAG_PENDING

    def compute(self, events: Any, held: Any, numbers: Any, values: Any, key: Any, wanted: Any) -> None:
        found = (key, tuple(wanted))
        code = codes.get(found, 0)
        if code == 0:                             # what comes once only is not compiled
            if len(codes) >= MOST_CODES:
                codes.clear()
            codes[found] = None
        elif code is None:
            code = codes[found] = Code(events, dict(enumerate(values)), set(wanted), state.backend_config.fusion_code)
        if self.sources is not None and code and code.source not in self.sources:
            self.sources.append(code.source)
        if code and code.works and state.backend_config.fusion_code:
            code.run(held, numbers)
        else:
            interpret(events, held, numbers)


def facts_of(op: Any) -> tuple[list[Choice], bool]:
    if not op._ready:
        op.prepare()
    found = facts[op] = choices_of(op), bool(op.is_inplace or op.is_out or op._schema.is_mutable)
    return found


class Weight:
    """What is to be gained by letting the ops of a call wait: passes over the results that others of them take up."""

    def __init__(self) -> None:
        self.ops = self.elements = 0
        self.made: set[int] = set()               # ids of arrays; one that is used again for another array does no harm

    def add(self, op: Any, args: Any, result: Any) -> None:
        self.ops += 1
        if op.overload == "Scalar" and hasattr(op.packet, "Tensor"):      # which a number in a tensor's place makes of it
            op = op.packet.Tensor
        if isinstance(result, Tensor) and (facts.get(op) or facts_of(op))[0]:
            self.made.add(id(result.array))
            self.elements += sum([t.array.size for t in args if isinstance(t, Tensor) and id(t.array) in self.made])

    def pays(self) -> bool:
        return self.elements > 0 and self.elements >= state.backend_config.fusion_threshold * self.ops and can_defer()


def interpret(events: list[Event], arrays: list[Any], numbers: list[float]) -> None:
    """Compute op by op what is not compiled."""
    for event in events:
        choice = event.choice
        args: list[Any] = [None] * len(choice.op.schema.params)
        for i, wanted in (*choice.guards, *choice.fixed):
            args[i] = wanted
        if choice.dim >= 0:
            args[choice.dim] = None if event.inner == len(arrays[event.operands[0]].shape) else tuple(range(-event.inner, 0))
        if choice.keepdim >= 0:
            args[choice.keepdim] = len(event.layout.shape) == len(arrays[event.operands[0]].shape)
        places = [i for i, *_ in choice.tensors] + [i for i, _ in choice.numbers]
        for i, operand in zip(places, event.operands, strict=True):
            args[i] = wrap(arrays[operand]) if operand >= 0 else numbers[-1 - operand]
        result = dispatch.compute(choice.op, args).array
        if arrays[event.value] is None:
            arrays[event.value] = result
        else:
            arrays[event.value][...] = result.reshape(arrays[event.value].shape)


def can_defer() -> bool:
    """Whether there is anything to gain: without a compiler, ops run as they come."""
    return compiler() is not None


def fused_source(graph: Any, inputs: Any) -> list[str]:
    """The C that the ops of a graph are compiled to for these inputs; none if running the graph would change something."""
    ops = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    if tls.slow_path or any([getattr(op, "_schema", None) is None or op._schema.is_mutable for op in ops]):
        return []
    sources: list[str] = []
    numbers = default_generator.get_state()
    was = set_grad_enabled(False)
    try:
        for _ in range(3):                        # the first time, the layouts of results are found out
            with Deferrer() as deferrer:
                deferrer.sources = sources
                results = graph(*inputs)
            del results
    finally:
        set_grad_enabled(was)
        default_generator.set_state(numbers)
    return sources
