"""The tape: deferred ops, matched one by one with earlier sequences (trie.py). See NOTE [Deferred ops] in deferred.py.

NOTE [Nodes of deferred ops]
The nodes of deferred ops are created when the ops run. Until then all their results lead to one node, which forwards
gradients (see `Forwarder`). Tensors get their nodes when they are settled, from a cell that a tensor with FLAG_PENDING
shares with the tape. A cell referenced only by the tape means that its tensor is gone.

NOTE [Other threads]
A tape belongs to one thread. While there are other threads it is locked, and the tensors that will be read are pending like
those that will be written: any access, in any thread, runs the deferred ops first.
"""
from __future__ import annotations

from itertools import count
from threading import RLock
from typing import Any

import numpy as np

from retrograd.compile import trie
from retrograd.compile.trie import Spot, Step
from retrograd.compile.waiting import Event, is_number, layout_of, layouts
from retrograd.core.exposed import is_exposed
from retrograd.core.graph import Node
from retrograd.core.kernels import references
from retrograd.core.opdef import OpDef
from retrograd.core.state import Tape, switches, thread_state
from retrograd.core.tensor import FLAG_PENDING, Tensor, new_tensor, wants_grad

PENDING = FLAG_PENDING
LONGEST = 512             # maximum number of deferred ops
ENOUGH = 384              # ops after which the tape is flushed where only one value is held (at the end of a loop's iteration)
MOST_WAITING = 1 << 32    # bytes of results of deferred ops, whether they will be stored or not
MOST_STEPS = 50_000       # in the trie
MOST_CHOICES = 64         # at one spot: they are searched linearly
MOST_SPARE = 1 << 24      # bytes of unused arrays kept for reuse
INPUT, NUMBER, WATCHED, CONSTANT = trie.NEW_INPUT, trie.LIFTED, trie.COMPARED, trie.FIXED     # C variables when compiled
known = trie.known

next_epoch = count(1).__next__


class Cell:
    """Shared by a pending tensor and the tape: the slot of its value, and its node once it exists."""

    __slots__ = ("counter", "epoch", "node", "nr", "slot")

    epoch: int
    slot: int
    node: Any
    nr: int
    counter: Any


class Spares:
    """The unused arrays of all layouts: memory of results that were never stored."""

    def __init__(self) -> None:
        self.bytes: int = 0
        self.layouts: dict[Any, None] = {}        # those that have had some

    def add(self, layout: Any, array: Any) -> None:
        spare = layout.spare
        if len(spare) >= LONGEST:
            return
        if not spare:
            self.layouts[layout] = None
        spare.append(array)
        self.bytes += layout.span
        if self.bytes > MOST_SPARE:
            self.clear()

    def clear(self) -> None:
        for layout in self.layouts:
            layout.spare.clear()
        self.layouts.clear()
        self.bytes = 0


spares = Spares()             # a C variable when compiled


def clear_spares() -> None:
    spares.clear()


class Forwarder(Node):
    """The temporary node of all deferred ops: forwards gradients to their nodes once these exist."""

    def _run_(self, grads: Any, needed: Any) -> Any:
        return [grads[slot] for slot in self.slots]

    def lead_to(self, wanted: Any, cells: Any, arrays: Any) -> None:
        """Connect it with the nodes in `cells`."""
        self.slots = [slot for slot in wanted if cells[slot].node is not None]
        self._count_ = max(len(arrays), 2)
        shapes: list[Any] = [None] * self._count_
        dtypes: list[Any] = [None] * self._count_
        for slot in self.slots:
            shapes[slot], dtypes[slot] = arrays[slot].shape, arrays[slot].dtype
        self._shape_, self._dtype_ = tuple(shapes), tuple(dtypes)
        self._next_ = tuple([cells[slot].node for slot in self.slots])
        self._nrs_ = [cells[slot].nr for slot in self.slots]


def resolve(t: Any) -> None:
    """Give a settled tensor its node."""
    t._flags &= ~PENDING
    cell = t._cell
    t._cell = None
    if cell is None:
        return
    if cell.node is not None and type(t._node) is Forwarder:
        t._node = cell.node
        t._nr = cell.nr
    if cell.counter is not None and t._counter is None:
        t._counter = cell.counter


class Recording(Tape):
    """The tape of one scope of deferred execution."""

    def __init__(self, owner: Any, facts: Any, find_facts: Any, finish: Any, shared: bool) -> None:
        self.owner: Any = owner
        self.shared: bool = shared                # whether there are other threads
        self.open: bool = True
        self.misses: int = 0                      # ops that were new at their position
        self.lock: Any = RLock()
        self.facts: dict[Any, Any] = facts        # op -> its choices, and whether it writes to its arguments
        self.find_facts: Any = find_facts
        self.finish: Any = finish                 # runs the deferred ops; returns those whose results were not wanted
        self.state: dict[str, Any] = thread_state()    # this thread's switches
        self.grad: bool = False
        self.unknown: Any = None                  # the layout to learn from the op that runs now
        self.reset()

    def reset(self) -> None:
        self.epoch: int = next_epoch()
        self.spot: Any = known.root
        self.count: int = 0
        self.span: int = 0                        # bytes of the results
        self.arrays: list[Any] = []               # by slot
        self.cells: list[Any] = []                # by slot; None for inputs
        self.tensors: list[Any] = []              # by slot: inputs
        self.places: dict[Any, Any] = {}          # id of an input -> its slot
        self.numbers: list[float] = []
        self.node: Any = None

    # ---- entry points
    def unary(self, op: OpDef, a: Any) -> Any:
        if self.shared or not self.is_on():
            return self.call_locked(op, (a,), False) if self.shared else None
        step = self.spot.last
        if step is not None and step.op is op and step.plain and step.grad == self.grad:
            made, given = len(self.arrays), len(self.numbers)
            if self.accepts(step, 0, a):
                if step.checks is not None:
                    step.checks(a, *op.tail)
                return self.make(step)
            self.undo(made, given)
        return self.search(op, (a,), False)

    def binary(self, op: OpDef, a: Any, b: Any) -> Any:
        if self.shared or not self.is_on():
            return self.call_locked(op, (a, b), False) if self.shared else None
        step = self.spot.last
        if step is not None and step.op is op and step.plain and step.grad == self.grad:
            if step.first >= 0 and step.second >= 0:       # nothing to add or undo
                if self.is_at(a, step.first) and self.is_at(b, step.second):
                    return self.make(step)
                return self.search(op, (a, b), False)
            made, given = len(self.arrays), len(self.numbers)
            if self.accepts(step, 0, a) and self.accepts(step, 1, b):
                if step.checks is not None:
                    step.checks(a, b, *op.tail)
                return self.make(step)
            self.undo(made, given)
        return self.search(op, (a, b), False)

    def call(self, op: OpDef, args: Any) -> Any:
        if self.shared:
            return self.call_locked(op, args, True)
        return self.search(op, args, True) if self.is_on() else None

    def call_locked(self, op: OpDef, args: Any, whole: bool) -> Any:
        """`call` while there are other threads."""
        if thread_state() is not self.state:
            return None
        with self.lock:
            return self.search(op, args, whole) if self.is_on() else None

    def is_on(self) -> bool:
        """Whether ops of this thread may be deferred now: only this scope's mode is on."""
        self.unknown = None
        if thread_state() is not self.state or switches.function_modes or not self.open:
            return False
        flags = self.state["run_flags"]
        if flags >> 1 != 1 or self.state["below"]:
            return False
        self.grad = flags & 1 == 0
        if self.count >= ENOUGH and self.is_through():
            self.flush()
        return True

    def search(self, op: OpDef, args: Any, whole: bool) -> Any:
        """The result of an op if it can be deferred, else None; without `whole`, further arguments have their defaults."""
        facts = self.facts.get(op)
        if facts is None:
            facts = self.find_facts(op)
        if not facts[0]:
            return None
        spot = self.spot
        for step in spot.steps:
            if step.op is op and self.fits(step, args, whole):
                spot.last = step
                if step.checks is not None:
                    step.checks(*args, *([] if whole else op.tail))
                return self.make(step)
        return self.extend(op, list(args) if whole else [*args, *op.tail], facts[0])

    def fits(self, step: Any, args: Any, whole: bool) -> bool:
        """Whether an op matches `step`; if so, its new inputs and numbers are added to the tape."""
        if step.grad != self.grad or not (whole or step.plain):
            return False
        made, given = len(self.arrays), len(self.numbers)
        i = 0
        for value in args:
            if not self.accepts(step, i, value):
                self.undo(made, given)
                return False
            i += 1
        return True

    def accepts(self, step: Any, i: int, value: Any) -> bool:
        """Whether an argument matches `step`; if so, it is added to the tape."""
        kind = step.first if i == 0 else step.second if i == 1 else step.kinds[i]
        if kind >= 0:
            return self.is_at(value, kind)
        if isinstance(value, Tensor):
            t = value
            return kind == INPUT and self.slot_of(t) == -1 and wants_grad(t) == step.requires[i] and (
                step.values[i].is_of(t.array)) and self.enter(t) >= 0
        if kind == NUMBER:
            if type(value) is not step.values[i] or not is_number(value):
                return False
            self.numbers.append(value)
            return True
        if kind >= INPUT:
            return False
        wanted = step.values[i]
        if value is not wanted and (type(value) is not type(wanted) or value != wanted):
            return False
        if kind == WATCHED:
            self.numbers.append(value)
        return True

    def undo(self, made: int, given: int) -> None:
        """Remove inputs and numbers from the tape."""
        if len(self.arrays) == made and len(self.numbers) == given:
            return
        for t in self.tensors[made:]:
            del self.places[id(t)]
            if t._flags & PENDING:
                resolve(t)
        del self.arrays[made:], self.cells[made:], self.tensors[made:], self.numbers[given:]

    def is_at(self, value: Any, slot: int) -> bool:
        """Whether the value of a slot is that of an argument."""
        if not isinstance(value, Tensor):
            return False
        t = value
        if t._flags & PENDING:
            return self.slot_of(t) == slot
        return slot < len(self.tensors) and self.tensors[slot] is t and self.arrays[slot] is t.array

    def slot_of(self, t: Any) -> int:
        """The slot of a tensor's value on the tape, -1 if it has none, -2 if the tensor has its own node or tangent."""
        if t._flags & PENDING:
            if t._flags != PENDING:
                return -2
            cell = t._cell
            if cell is not None:
                if cell.epoch == self.epoch:
                    return cell.slot if t._node is self.node or not t._requires or self.cells[cell.slot] is None else -2
                if cell.epoch < self.epoch:
                    resolve(t)
        found = self.places.get(id(t))
        return -1 if found is None or self.arrays[found] is not t.array else found      # which `set_` replaces

    def holds(self, array: Any) -> bool:
        """Whether an array is an operand or result of deferred ops."""
        for other in self.arrays:
            if other is array:
                return True
        return False

    def enter(self, t: Any) -> int:
        """The slot of a new input; -1 if reading it later is not allowed."""
        array = t.array
        if t._flags or self.holds(array) or not is_readable(array):
            return -1
        slot = len(self.arrays)
        if self.shared:
            t._flags = PENDING
            t._cell = self.new_cell(slot)
        self.arrays.append(array)
        self.cells.append(None)
        self.tensors.append(t)
        self.places[id(t)] = slot
        return slot

    def new_cell(self, slot: int) -> Any:
        cell = Cell.__new__(Cell)
        cell.epoch = self.epoch
        cell.slot = slot
        cell.nr = 0
        cell.node = cell.counter = None
        return cell

    def make(self, step: Any) -> Any:
        """The tensor of a result that will be computed later."""
        spare = step.layout.spare
        if spare:
            array = spare.pop()
            spares.bytes -= step.layout.span
        else:
            array = step.layout.new()
        slot = len(self.arrays)
        cell = self.new_cell(slot)
        self.arrays.append(array)
        self.cells.append(cell)
        self.tensors.append(None)
        out = new_tensor(array)
        out._flags = PENDING
        out._cell = cell
        if step.records:
            if self.node is None:
                self.node = Forwarder()
            out._node = self.node
            out._nr = slot
            out._requires = True
        self.spot = step.after
        self.count += 1
        self.span += step.layout.span
        if self.count >= LONGEST or self.span >= MOST_WAITING:
            self.flush()
        return out

    # ---- new ops
    def extend(self, op: OpDef, args: Any, choices: Any) -> Any:
        """The result of an op that is new at this position; None if it must not be deferred."""
        for choice in choices:
            if choice.fits(args):
                break
        else:
            return None
        for value in args:
            if isinstance(value, Tensor) and self.slot_of(value) == -2:
                self.flush()
                return None
        made, given = len(self.arrays), len(self.numbers)
        step = self.new_step(op, args, choice)
        if step is None:
            self.undo(made, given)
            return None
        if known.size >= MOST_STEPS:
            self.undo(made, given)
            self.flush()
            known.clear()
            self.reset()
            return None
        known.size += 1
        self.misses += 1
        step.after = Spot(self.spot, step)
        step.after.numbers = [*self.spot.numbers, *[(place, args[i]) for i, place in step.numbers]]
        if len(self.spot.steps) >= MOST_CHOICES:
            del self.spot.steps[0]
        self.spot.steps.append(step)
        self.spot.last = step
        if step.event.choice.checks is not None:
            step.event.choice.checks(*args)
        return self.make(step)

    def new_step(self, op: Any, args: Any, choice: Any) -> Any:
        """The step of an op, adding its new inputs and numbers to the tape; None if it must not be deferred."""
        kind = ""
        kinds: list[int] = [CONSTANT] * len(args)
        values = list(args)
        requires = [False] * len(args)
        operands: list[int] = []
        signature: list[Any] = [choice]
        layout: Any = None
        for i, _, mask in choice.tensors:
            value = args[i]
            if isinstance(value, Tensor):
                layout = layout_of(value.array)
                if mask:
                    if layout.char != "?":
                        return None
                elif not kind:
                    kind = layout.char
                elif layout.char != kind:
                    return None
                slot = self.slot_of(value)
                kinds[i] = slot if slot >= 0 else INPUT
                values[i] = layout if slot < 0 else None
                requires[i] = wants_grad(value)
                if slot < 0:
                    slot = self.enter(value)
                    if slot < 0:
                        return None
                operands.append(slot)
                signature.append(layout)
            elif mask or not is_number(value):
                return None
            else:
                operands.append(-1 - i)
                signature.append(type(value))
        if not kind or kind not in choice.kinds:
            return None
        inner = self.owner.waiting.complete(signature, choice, args, layout)
        if inner < -1:
            return None
        operands.extend([-1 - i for i, _ in choice.numbers])
        key = tuple(signature)
        found = layouts.get(key, 0)
        if found is None or found == 0:
            if found == 0:
                self.unknown = op, args, choice, key, kind
            return None
        records = bool(op.differentiable and self.grad and any([requires[i] for i in op.inputs]) and found.char in "fd")
        start = len(args) - len(op.tail)
        numbers: list[Any] = []
        for i in sorted([-1 - o for o in operands if o < 0]):
            value = args[i]
            place = -1
            if not (records and type(value) is int or i >= start and value is op.tail[i - start]):
                kinds[i], values[i], place = NUMBER, type(value), len(self.numbers)
                self.numbers.append(value)        # others are constants: rules may compute with integers
            numbers.append((i, place))
        known_numbers = len(self.spot.numbers)
        given = {i: -1 - known_numbers - k for k, (i, _) in enumerate(numbers)}
        operands = [o if o >= 0 else given[-1 - o] for o in operands]
        step = Step(op, kinds, values, requires, self.grad, records,
                    Event(choice, tuple(operands), len(self.arrays), found, kind, inner))
        step.numbers = numbers
        return step

    def unknown_of(self, op: OpDef, args: Any) -> Any:
        """The layout to learn of an op that was just refused; None if there is none."""
        found, self.unknown = self.unknown, None
        return found if found is not None and found[0] is op and len(args) == len(found[1]) and all(
            [a is b for a, b in zip(args, found[1], strict=True)]) else None

    def learn(self, unknown: Any, result: Any) -> None:
        """Store the result layout of an op that could not be deferred because it was unknown."""
        _, _, choice, key, kind = unknown
        fits = type(result) is Tensor and result._flags & ~PENDING == 0 and (
            result.array.dtype.char == ("?" if choice.program.is_boolean else kind)) and result.array.size > 0 and (
                not choice.sums or bool(result.array.flags.c_contiguous))
        if len(layouts) > 100_000:
            layouts.clear()
        layouts[key] = layout_of(result.array) if fits else None

    # ---- running deferred ops
    def is_through(self) -> bool:
        """Whether at most one of the result tensors is still referenced."""
        found = 0
        for slot in range(len(self.cells) - 1, -1, -1):
            if self.cells[slot] is not None and references(self.cells, slot) > UNHELD:
                found += 1
                if found > 1:
                    return False
        return True

    def flush(self) -> None:
        """Run the deferred ops."""
        if self.shared:
            with self.lock:
                self.run()
        else:
            self.run()

    def run(self) -> None:
        if not self.arrays:
            return
        spot, arrays, cells, tensors, numbers, node = (self.spot, self.arrays, self.cells, self.tensors, self.numbers,
                                                       self.node)
        waits = self.count > 0
        self.reset()
        if waits:
            wanted = tuple([slot for slot in range(len(cells)) if is_held(cells, arrays, slot)])
            unused = self.finish(spot, wanted, arrays, cells, tensors, numbers, node)
            for event in unused:                  # their arrays were never visible
                spares.add(event.layout, arrays[event.value])


def is_readable(array: Any) -> bool:
    """Whether C code may read an array later."""
    return bool(not is_exposed(array) and array.flags.aligned and array.dtype.byteorder != ">")


def is_held(cells: list[Any], arrays: list[Any], slot: int) -> bool:
    """Whether the tensor or array of a result is referenced outside of the tape."""
    return cells[slot] is not None and (references(cells, slot) > UNHELD or references(arrays, slot) > UNHELD)


UNHELD = references([object()], 0)
assert UNHELD <= 3
ndarray = np.ndarray
