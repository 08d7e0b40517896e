"""The recorder: records every op, backward node and named range that a thread runs while a profiler is on.

NOTE [What the profiler sees]
`tls.profiler` holds the thread's recorder, which sets `slow_path`, so that every op takes the slow path through dispatch,
where `run_op` wraps the layers; the engine reports its nodes. Without a profiler none of this runs. Events are time
intervals; their nesting is computed afterwards (`EventList`), from the times alone.
An op above autograd has a sequence number: that of the next node, so that a recorded op has the number of its node, and so
have the node's events when it runs. Ops below autograd have -1.
PyTorch builds its factories from `empty` and a fill; here they are one NumPy call, which the recorder splits into the same
steps (column `steps`). Other kernels run no ops inside, so their events have no children where PyTorch's may.
"""
from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from threading import local
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.autograd.profiler_inputs import Input
from retrograd.autograd.python_calls import PythonCalls
from retrograd.core.dispatch import compute
from retrograd.core.graph import LAST, Node, name_of, sequence
from retrograd.core.opdef import OpDef, fact, find_packet
from retrograd.core.state import tls
from retrograd.core.storage import address, owner_of
from retrograd.core.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.autograd.python_calls import PythonCall

# the kinds of events, by PyTorch's numbers
FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7
MEMORY = "[memory]"         # the name of events that are memory given back outside of ops
EVALUATE = "autograd::engine::evaluate_function: "
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Record:
    """One event while it is being recorded; times are in nanoseconds, `end` is 0 while it runs."""

    __slots__ = ("allocations", "end", "flops", "fwd_thread", "inputs", "keywords", "memory", "name", "number", "python",
                 "scope", "stack", "start", "thread")

    def __init__(self, name: str, scope: int, number: int, thread: int) -> None:
        self.name = name
        self.scope = scope
        self.number = number
        self.thread = thread
        self.fwd_thread = 0
        self.inputs: list[Input] = []         # with `record_shapes`
        self.keywords: dict[str, Any] = {}
        self.stack: list[str] = []
        self.python: Any = None               # the PythonCall that it is
        self.allocations: list[Any] = []      # memory that was taken or given back in it
        self.flops = 0
        self.memory = 0
        self.end = 0
        self.start = perf_counter_ns()


class Recorder:
    """The records of one profiler so far, and its options."""

    def __init__(self, shapes: bool = False, flops: bool = False, memory: bool = False, stack: bool = False) -> None:
        self.shapes, self.flops, self.memory, self.stack = shapes, flops, memory, stack
        self.records: list[Record] = []
        self.threads: dict[int, int] = {}             # sequence number -> the thread of the op that got it
        self.open: list[Record] = []                  # with `memory`: the ops under way
        self.allocated = 0
        self.known: dict[int, Allocation] = {}        # the arrays whose memory is counted
        self.calls = PythonCalls(self.begin_call) if stack else None
        self.start = perf_counter_ns()
        self.end = 0
        if self.calls is not None:
            self.calls.start()

    def begin_call(self, name: str, call: PythonCall) -> Record:
        """Open the event of a Python call."""
        record = Record(name, FUNCTION, -1, thread_number())
        record.python = call
        self.records.append(record)
        return record

    def begin(self, name: str, scope: int = FUNCTION, number: int = -1, args: Sequence[Any] = ()) -> Record:
        """Open an event; `end` closes it."""
        record = Record(name, scope, number, thread_number())
        if self.stack:
            record.stack = user_stack()
        if self.shapes and args:
            record.inputs = [Input(value) for value in args]
        self.records.append(record)
        record.start = perf_counter_ns()              # excludes the time of the bookkeeping
        return record

    def begin_range(self, name: str) -> Record:
        """Open an event for a named range."""
        return self.begin(name, USER_SCOPE)

    def end_of(self, record: Record) -> None:
        record.end = perf_counter_ns()
        if self.memory and record in self.open:
            self.open.remove(record)

    def note_memory(self, record: Record, args: Sequence[Any], result: Any) -> None:
        """Count the memory of an op that has ended, and watch for its release."""
        for array in fresh_arrays(args, result):
            record.memory += array.nbytes
            owner = owner_of(array)
            if id(owner) not in self.known:
                self.known[id(owner)] = Allocation(self, record, owner)

    def stop(self) -> None:
        """Close events that are still open after an error or an unclosed range."""
        if self.calls is not None:
            self.calls.stop()
        self.end = perf_counter_ns()
        for record in self.records:
            if record.end == 0:
                record.end = self.end

    # ---- called by dispatch, Function and the engine
    def run_op(self, op: OpDef, args: Sequence[Any], layers: Callable[[Any, Any], Any]) -> Any:
        """Run `op` through the `layers` of dispatch as one event."""
        number = -1
        # (`x_like` uses only the shape of its tensor: autograd skips it)
        if tls.grad_enabled and not tls.below and not tls.inference and not op.name.endswith("_like") and has_tensor(args):
            number = sequence.n + 1
            self.threads[number] = thread_number()
        record = self.begin(op.qualified, FUNCTION, number, args)
        try:
            steps = fact(op.name, "steps")
            if steps is None or not takes_steps(op, args):
                result = layers(op, args)
            else:
                result = self.run_steps(op, args, *steps)
        finally:
            self.end_of(record)
        if self.flops:
            record.flops = flops_of(fact(op.name, "flops"), args, result)
        if self.memory:
            self.note_memory(record, args, result)
        return result

    def run_steps(self, op: OpDef, args: Sequence[Any], fill: str, *values: Any) -> Tensor:
        """Record a factory as `empty` and an in-place fill, as PyTorch runs it."""
        named = dict(zip([p.name for p in op.schema.params], args, strict=True))
        maker, filler = op_named("empty.memory_format"), op_named(fill)
        made = self.run_part(maker, [named.get(p.name, p.default) for p in maker.schema.params])
        filled = [made, *values]
        self.run_part(filler, filled + [named.get(p.name, p.default) for p in filler.schema.params[len(filled):]])
        return made

    def run_part(self, op: OpDef, args: Sequence[Any]) -> Any:
        record = self.begin(op.qualified, FUNCTION, -1, args)
        try:
            result = compute(op, args)
        finally:
            self.end_of(record)
        if self.memory:
            self.note_memory(record, args, result)
        return result

    def run_function(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        """Record a custom Function's forward as one event."""
        number = sequence.n + 1 if tls.grad_enabled and has_tensor(args) else -1
        if number >= 0:
            self.threads[number] = thread_number()
        record = self.begin(name, FUNCTION, number, args)
        try:
            return run()
        finally:
            self.end_of(record)

    def begin_node(self, node: Node, grads: Sequence[Any]) -> Record:
        """Open the event of a node's formula."""
        number, thread = self.origin(node)
        record = self.begin(name_of(node), BACKWARD_FUNCTION, number, grads)
        record.fwd_thread = thread
        return record

    def next_node(self, before: Record | None, node: Node | None) -> Record | None:
        """Close the event of the finished node, and open that of the next one (None at the end)."""
        if before is not None:
            self.end_of(before)
        if node is None:
            return None
        number, thread = self.origin(node)
        record = self.begin(EVALUATE + name_of(node), FUNCTION, number)
        record.fwd_thread = thread
        return record

    def origin(self, node: Node) -> tuple[int, int]:
        """The sequence number of a node and the thread that recorded it."""
        if node._seq_ == LAST:
            return -1, 0
        return node._seq_, self.threads.get(node._seq_, thread_number())


# ---- threads, stacks, shapes
class ThreadNumber(local):
    n = 0


own_thread = ThreadNumber()
next_thread = count(1).__next__


def thread_number() -> int:
    """The number of this thread, counted from 1 in the order of first use."""
    if own_thread.n == 0:
        own_thread.n = next_thread()
    return own_thread.n


def user_stack() -> list[str]:
    """The Python frames outside of this package, innermost first."""
    frame: Any = sys._getframe(1)
    found = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found


def has_tensor(args: Sequence[Any]) -> bool:
    for value in args:
        if isinstance(value, Tensor):
            return True
        if isinstance(value, (list, tuple)) and any([isinstance(t, Tensor) for t in value]):
            return True
    return False


def fresh_arrays(args: Sequence[Any], result: Any) -> list[Any]:
    """The arrays of those results that are neither arguments nor views of them."""
    known = [t.array for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]
    return [t.array for t in (result if isinstance(result, (list, tuple)) else (result,))
            if isinstance(t, Tensor) and not any([t.array is k or np.may_share_memory(t.array, k) for k in known])]


class Allocation:
    """Memory that an op took while a profiler was on."""

    def __init__(self, recorder: Recorder, record: Record, owner: np.ndarray) -> None:
        self.recorder, self.key, self.size, self.address = recorder, id(owner), int(owner.nbytes), address(owner)
        self.at = record.end
        self.owner = weakref.ref(owner, self.given_back)
        recorder.allocated += self.size
        record.allocations.append((self.at, self.size, self.address, recorder.allocated))

    def given_back(self, _: Any) -> None:
        """An op that began after the memory was taken counts it; one that took it itself has nothing of it in the end."""
        recorder = self.recorder
        recorder.known.pop(self.key, None)
        if recorder.end:
            return
        recorder.allocated -= self.size
        event = (perf_counter_ns(), -self.size, self.address, recorder.allocated)
        for record in recorder.open:
            if record.start > self.at:
                record.memory -= self.size
        if recorder.open:
            recorder.open[-1].allocations.append(event)
            return
        alone = Record(MEMORY, FUNCTION, -1, thread_number())
        alone.start = alone.end = event[0]
        alone.memory = -self.size
        alone.allocations.append(event)
        recorder.records.append(alone)


def flops_of(kind: Any, args: Sequence[Any], result: Any) -> int:
    """The estimated floating-point operations of an op, from the `flops` column of its row; 0 if it has none."""
    if kind == "elements":
        return int(args[0].array.size) if isinstance(args[0], Tensor) else 0
    if kind == "convolution":
        return 2 * int(result.array.size) * int(np.prod(args[1].array.shape[1:]))
    if kind is None:
        return 0
    _, first = kind                 # ("product", the argument that is the first matrix)
    return 2 * int(result.array.size) * int(args[first].array.shape[-1])


# ---- factories in steps
def takes_steps(op: OpDef, args: Sequence[Any]) -> bool:
    """Whether the factory call is plain and no layer below must see it whole."""
    if op.is_out or tls.dispatch_modes or tls.transforms or tls.below:
        return False
    layout, device = args[op.device_arg - 1], args[op.device_arg]
    return (layout is None or str(layout) == "torch.strided") and (device is None or device.type == "cpu") and (
        all([n >= 0 for n in args[0]]))


def op_named(full: str) -> OpDef:
    name, _, overload = full.partition(".")
    packet = find_packet(name)
    assert packet is not None
    op = getattr(packet, overload)
    if not op._ready:
        op.prepare()
    return op


__all__ = ["BACKWARD_FUNCTION", "FUNCTION", "USER_SCOPE", "Record", "Recorder", "thread_number"]
