"""Deferred execution: elementwise ops are queued and run together as one loop when a value is needed.

NOTE [Deferred ops]
Python and autograd run as usual; only the kernel is deferred. An op is deferred if its arithmetic is known (the column
`lower`), its operands are float32 or float64 (masks: bool) and the layout of its result has been seen before: then it
cannot fail. Its result is a tensor over memory that has not been written yet, marked by FLAG_PENDING. Everything else runs
immediately, after the deferred ops if one of them is an operand or the op writes to memory. Values without references at
that time are never stored.

Memory that code outside of ops can write to (core/exposed.py) is not read later than in an uncompiled program: ops on it
are not deferred. Starting a thread runs all deferred ops. While there are other threads, the tensors that will be read are
marked like those that will be written: any access, in any thread, runs the deferred ops first.
"""
from __future__ import annotations

import threading
import weakref
from _thread import _count
from functools import partial, wraps
from typing import Any

import numpy as np

from retrograd.codegen.library import compiler
from retrograd.compile import joint, state
from retrograd.compile.regions import Code, choices_of, interpret
from retrograd.compile.tape import Recording, clear_spares, resolve
from retrograd.compile.tracing import CannotTrace, Tracer
from retrograd.compile.trie import known
from retrograd.compile.waiting import Choice, Waiting
from retrograd.core import dispatch
from retrograd.core.hooks import hooks
from retrograd.core.modes import TorchDispatchMode, remove_mode
from retrograd.core.opdef import OpDef
from retrograd.core.state import set_grad_enabled, switches, tls
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_PENDING, Tensor, new_tensor, wants_grad
from retrograd.ops.create.generators import default_generator

MOST_CODES = 2000
LONG_STRETCH = 16         # consecutive ops from which one fused call pays off, if it replaces their nodes

facts: dict[Any, tuple[list[Choice], bool]] = {}      # op -> its choices, and whether it writes to its arguments
codes: dict[Any, Any] = {}        # compiled code by plan, and by (deferred ops, wanted values)


state.when_reset.append(codes.clear)
state.when_reset.append(known.clear)
state.when_reset.append(clear_spares)
state.when_reset.append(joint.compiled.clear)


class Active:
    """The active deferrers of all threads."""

    def __init__(self) -> None:
        self.all: list[Deferrer] = []
        self.start = threading.Thread.start

    def here(self) -> bool:
        """Whether ops of this thread are deferred."""
        return bool(self.all) and any([isinstance(mode, Deferrer) for mode in tls.dispatch_modes])

    def enter(self, deferrer: Deferrer) -> None:
        self.all.append(deferrer)
        threading.Thread.start = start_thread         # type: ignore[assignment, method-assign]

    def leave(self, deferrer: Deferrer) -> None:
        self.all.remove(deferrer)
        if not self.all:
            threading.Thread.start = self.start       # type: ignore[method-assign]


active = Active()


@wraps(threading.Thread.start)
def start_thread(thread: threading.Thread) -> None:
    """Replaces `Thread.start` while ops may be deferred: runs them first."""
    settle()
    for deferrer in active.all:
        deferrer.waiting.alone = False
        if deferrer.tape is not None:
            deferrer.tape.shared = True
    active.start(thread)


def settle(*tensors: Any) -> None:
    """Run all deferred ops; none of `tensors` is pending afterwards."""
    for deferrer in list(active.all):
        deferrer.flush()
    for t in tensors:
        if t._flags & FLAG_PENDING:
            resolve(t)


hooks.settle = settle


class Deferrer(TorchDispatchMode):
    """A scope in which ops are deferred."""

    _is_hidden = True

    def __init__(self, records: bool = True) -> None:
        self.records = records                    # uses a tape, where no other mode is on
        self.waiting = Waiting(facts, facts_of, self.run, self.flush)
        self.waiting.alone = _count() == (threading.current_thread() is not threading.main_thread())
        self.lock = threading.RLock()
        self.sources: list[str] | None = None     # collects the C sources that run, on request
        self.before: Any = None
        self.tape: Any = None
        self.plans: list[Any] = []                # plans to compile at the end
        self.misses = 0                           # ops that were unknown at their position

    def __enter__(self) -> Any:
        active.enter(self)
        self.before, tls.deferrer = tls.deferrer, self
        free = switches.tape is None or not switches.tape.open  # type: ignore[attr-defined]
        if self.records and not tls.slow_path and free:
            self.tape = switches.tape = Recording(self, facts, facts_of, partial(joint.finish, self.plans),
                                                  not self.waiting.alone)
        return super().__enter__()

    def leave_tape(self) -> None:
        if self.tape is not None:
            if switches.tape is self.tape:
                switches.tape = None
            self.tape.open = False
            self.misses = self.tape.misses
            self.tape = None

    def __exit__(self, *exc: Any) -> None:
        remove_mode(self)                         # not necessarily the innermost: a program may have left a mode of its own
        tls.deferrer = self.before
        try:
            self.flush()
        finally:
            self.leave_tape()
            active.leave(self)
        if not tls.slow_path:
            for plan, numbers in self.plans:
                plan.compile(numbers, state.backend_config.fusion_code)
                for made, code in [(plan, plan.code), *[(part, part.backward.code) for part in plan.parts]]:
                    if code is not None:
                        codes[made] = code

    # ---- ops
    def attempt(self, op: OpDef, args: Any, records: bool) -> Any:
        """The result of an op if it can be deferred, else None; only the queue is locked, since ops may run arbitrary
        code."""
        if self.waiting.alone:
            return self.waiting.attempt(op, args, records)
        with self.lock:
            return self.waiting.attempt(op, args, records)

    def _process(self, op: OpDef, args: Any) -> Any:
        """Run or defer an op below autograd; `args` are in schema order."""
        if self.tape is not None:
            return self.run(op, args, (facts.get(op) or facts_of(op))[1])
        result = self.attempt(op, args, False)
        return self.run(op, args, facts[op][1]) if result is None else result

    def take(self, op: OpDef, args: Any) -> Any:
        """Run or defer an op above autograd, where no other mode is on."""
        tape = self.tape
        if tape is not None:                      # it did not accept the op
            self.settle_arguments(args)
            unknown = tape.unknown_of(op, args)
            result = dispatch.call_layers(op, args)
            if unknown is not None:
                tape.learn(unknown, result)
            return result
        result = self.attempt(op, args, True)
        return dispatch.call_layers(op, args) if result is None else result

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.flush()                              # not a table row
        return func(*args, **(kwargs or {}))

    def run(self, op: OpDef, args: Any, writes: bool) -> Any:
        """Run an op now, below autograd."""
        tape = self.tape
        if tape is not None and tape.arrays and (writes or self.touches(args)) or self.waiting.events and (
                writes or self.touches(args)):
            self.flush()
        modes, was = tls.dispatch_modes, tls.below
        place = modes.index(self)
        del modes[place]
        tls.below = True
        on = tape is not None and switches.tape is tape
        if on:
            switches.tape = None
        try:
            return op.compute(*args) if op.composite else dispatch.below(op, args)
        finally:
            tls.below = was
            modes.insert(place, self)
            if on and self.tape is not None:
                switches.tape = self.tape

    def touches(self, args: Any) -> bool:
        """Whether arguments are results or operands of deferred ops, or may be."""
        find = self.waiting.find
        tape = self.tape
        for value in args:
            for t in value if isinstance(value, list | tuple) else (value,):
                if isinstance(t, Tensor) and (t._flags & ~(FLAG_INFERENCE | FLAG_PENDING) or find(t.array) >= 0 or (
                        tape is not None and tape.holds(t.array))):
                    return True
        return False

    def settle_arguments(self, args: Any) -> None:
        """Compute the values and nodes of an op's arguments."""
        for value in args:
            for t in value if isinstance(value, list | tuple) else (value,):
                if isinstance(t, Tensor) and t._flags & FLAG_PENDING:
                    settle(t)

    # ---- running deferred ops
    def flush(self) -> None:
        """Run the deferred ops."""
        if self.tape is not None:
            self.tape.flush()
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
        if code == 0:                             # a sequence is compiled from its second occurrence on
            if len(codes) >= MOST_CODES:
                codes.clear()
            codes[found] = None
        elif code is None:
            code = codes[found] = Code(events, dict(enumerate(values)), set(wanted), state.backend_config.fusion_code)
        if self.sources is not None and code and code.source not in self.sources:
            self.sources.append(code.source)
        if code and code.function is not None and state.backend_config.fusion_code:
            code.run(held, numbers)
        else:
            interpret(events, held, numbers)


def facts_of(op: OpDef) -> tuple[list[Choice], bool]:
    if not op._ready:
        op.prepare()
    found = facts[op] = choices_of(op), bool(op.is_inplace or op.is_out or op._schema.is_mutable)
    return found


class Trace(Deferrer):
    """The mode in which a backward is traced: every op must be deferrable. See NOTE [Joint graphs] in joint.py."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = Waiting(facts, facts_of, self.learn, self.flush)
        self.waiting.alone = True
        self.waiting.longest = 1 << 30
        self.expanded: dict[int, Any] = {}        # id of an array -> (its unexpanded source, the array)
        self.kept: list[Any] = []                 # keeps arrays alive, so that ids stay unique

    def __enter__(self) -> Any:
        self.before, tls.deferrer = tls.deferrer, self
        return TorchDispatchMode.__enter__(self)

    def __exit__(self, *exc: Any) -> None:
        remove_mode(self)
        tls.deferrer = self.before

    def flush(self) -> None:
        raise CannotTrace

    def run(self, op: OpDef, args: Any, writes: bool) -> Any:
        raise CannotTrace

    def learn(self, op: OpDef, args: Any, writes: bool) -> Any:
        """Run an op to learn the layout of its result."""
        return dispatch.compute(op, [new_tensor(a.array) if isinstance(a, Tensor) else a for a in args])

    def take(self, op: OpDef, args: Any) -> Any:
        if op.composite:
            return op.compute(*args)
        if op.name == "expand":
            return self.expand(args[0], args[1])
        if op.overload == "Scalar" and hasattr(op.packet, "Tensor"):
            op = op.packet.Tensor                 # a number given for a tensor
            args = [*args, *op.tail[len(args) - 2:]]
        events = len(self.waiting.events)
        result = self.waiting.attempt(op, args, True)
        if result is not None and len(self.waiting.events) == events:      # its layout is known now: defer it
            result = self.waiting.attempt(op, args, True)
        if result is None or len(self.waiting.events) == events:
            raise CannotTrace
        self.kept.append(result.array)            # not the tensor: the engine adds in place to those that nobody holds
        return result

    def _process(self, op: OpDef, args: Any) -> Any:
        if op.name in ("detach", "alias"):
            return new_tensor(args[0].array)
        raise CannotTrace

    def expand(self, t: Any, shape: Any) -> Any:
        array = t.array
        if wants_grad(t) and tls.grad_enabled:
            raise CannotTrace
        missing = len(shape) - array.ndim
        sizes = [array.shape[d - missing] if n == -1 else n for d, n in enumerate(shape)]
        made = np.broadcast_to(array, sizes)
        root = self.expanded[id(array)][0] if id(array) in self.expanded else array
        self.expanded[id(made)] = root, made
        return new_tensor(made)

    def arrays(self) -> list[Any]:
        return [array() if type(array) is weakref.ref else array for array in self.waiting.arrays]


Tracer.mode = Trace


class Weight:
    """The estimated gain of deferring the ops of a call: passes over intermediate results that fusion saves."""

    def __init__(self) -> None:
        self.ops = self.elements = 0
        self.waits = 0                            # deferrable ops that record nodes
        self.stretches = 1                        # number of runs of deferrable ops, separated by others
        self.last = False
        self.made: set[int] = set()               # ids of arrays; reuse of an id is harmless

    def add(self, op: OpDef, args: Any, result: Any) -> None:
        self.ops += 1
        if op.overload == "Scalar" and hasattr(op.packet, "Tensor"):      # the overload for a number given for a tensor
            op = op.packet.Tensor
        can_wait = isinstance(result, Tensor) and bool((facts.get(op) or facts_of(op))[0])
        self.waits += can_wait and tls.grad_enabled and any([isinstance(t, Tensor) and wants_grad(t) for t in args])
        self.stretches += self.last and not can_wait
        self.last = can_wait
        if can_wait:
            self.made.add(id(result.array))
            self.elements += sum([t.array.size for t in args if isinstance(t, Tensor) and id(t.array) in self.made])

    def pays(self) -> bool:
        return (self.elements > 0 and self.elements >= state.backend_config.fusion_threshold * self.ops or (
            self.waits >= LONG_STRETCH * self.stretches)) and can_defer()


def can_defer() -> bool:
    """Whether deferring can pay off: without a compiler, ops run immediately."""
    return compiler() is not None


def fused_source(graph: Any, inputs: Any) -> list[str]:
    """The C source of a graph's fused ops for these inputs; empty if running the graph has side effects."""
    ops = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    if tls.slow_path or any([getattr(op, "_schema", None) is None or op._schema.is_mutable for op in ops]):
        return []
    sources: list[str] = []
    numbers = default_generator.get_state()
    was = set_grad_enabled(False)
    try:
        for _ in range(3):                        # the first run learns the layouts of results
            with Deferrer(records=False) as deferrer:
                deferrer.sources = sources
                results = graph(*inputs)
            del results
    finally:
        set_grad_enabled(was)
        default_generator.set_state(numbers)
    return sources
