"""Traces the backward of deferred ops by running them and their rules on placeholders. See NOTE [Joint graphs] in
joint.py."""
from __future__ import annotations

import ast
from typing import Any

from retrograd.autograd.engine import run_pass
from retrograd.compile.regions import Code, Lifted
from retrograd.compile.trie import LIFTED
from retrograd.compile.waiting import Event, Layout, Num, layout_of
from retrograd.core import dispatch
from retrograd.core.graph import edge_of
from retrograd.core.state import set_grad_enabled
from retrograd.core.tensor import Tensor, new_tensor

LIGHT = 65536             # bytes; smaller values are recomputed even by math functions: their operands are in the CPU cache


class CannotTrace(Exception):
    """A backward contains ops that cannot be deferred."""


def arguments(step: Any, values: Any, numbers: Any) -> list[Any]:
    """The arguments of an op; `values` has its tensors by slot."""
    args = list(step.values)
    for (i, *_), operand in zip(step.event.choice.tensors, step.event.operands, strict=False):
        if operand >= 0:
            args[i] = values[operand]
    for i, place in step.numbers:
        if place >= 0:
            args[i] = numbers[place]
    return args


class Part:
    """A run of ops with one joint node."""

    def __init__(self, steps: list[Any], given: list[int], outputs: list[int]) -> None:
        self.steps, self.outputs = steps, outputs
        self.inputs = given                       # slots that it reads
        self.needs: list[bool] = []               # which of them require grad
        self.backward: Any = None
        self.shape: Any = None                    # of the outputs, as nodes have them
        self.dtype: Any = None
        self.kept: set[int] = set()               # slots that the usual nodes save
        self.watched: list[int] = []              # those of them that programs also hold, and may write to
        self.stored: set[int] = set()             # values that are kept and not recomputed
        self.matters: set[int] = set()            # slots whose values the usual nodes depend on
        self.copied: set[int] = set()             # slots that only the joint node saves: programs may write to them
        self.layouts: list[Any] = []              # of the inputs

    def behind(self, outputs: list[int]) -> set[int]:
        """The values of the ops whose nodes a backward pass from `outputs` covers."""
        return self.before(set(outputs)) & {step.event.value for step in self.steps if step.records}

    def describe(self, layouts: dict[int, Layout], wanted: Any) -> None:
        shapes, dtypes = [layouts[slot].shape for slot in self.outputs], [layouts[slot].dtype for slot in self.outputs]
        self.shape, self.dtype = (shapes[0], dtypes[0]) if len(shapes) == 1 else (tuple(shapes), tuple(dtypes))
        self.layouts = [layouts[slot] for slot in self.inputs]
        every = {step.event.value for step in self.steps}
        self.kept = self.saved_by(self.behind(self.outputs))
        used = self.before(self.kept) | {slot for slot, _ in self.backward.saved}
        self.copied = {slot for slot in self.inputs if slot in wanted and slot in used and slot not in self.kept}
        self.kept |= {slot for slot, _ in self.backward.saved if slot not in self.copied}
        self.watched = [slot for slot in self.kept if slot in wanted and (slot in every or slot in self.inputs)]
        self.stored = {slot for slot, _ in self.backward.saved} & every
        self.matters = self.before(self.kept, self.stored)

    def before(self, values: set[int], stored: Any = ()) -> set[int]:
        """`values` and all values that they are computed from, stopping at `stored` ones."""
        found = set(values)
        for step in reversed(self.steps):
            if step.event.value in found and step.event.value not in stored:
                found.update([o for o in step.event.operands if o >= 0])
        return found

    def saved_by(self, values: set[int]) -> set[int]:
        """The slots saved by the nodes of the ops that make `values`."""
        needs = dict(zip(self.inputs, self.needs, strict=True))
        found: set[int] = set()
        for step in self.steps:
            needs[step.event.value] = step.records
            if step.records and step.event.value in values:
                slots = {i: o for (i, *_), o in zip(step.event.choice.tensors, step.event.operands, strict=False) if o >= 0}
                mask = sum([1 << bit for bit, i in enumerate(step.op.inputs) if needs.get(slots.get(i, -1), False)])
                plan = step.op.plan(mask)
                found.update([slots[argument] for _, argument in plan.inputs if argument in slots])
                if plan.outputs:
                    found.add(step.event.value)
        return found


class Backward:
    """The compiled backward of a part."""

    def __init__(self) -> None:
        self.code: Any = None
        self.count = 0                            # how many values there are
        self.saved: list[tuple[int, int]] = []    # (slot, value number) of forward values that it uses
        self.grads: list[tuple[int, Any]] = []    # (number, layout) of the gradients of the outputs
        self.numbers: list[Any] = []              # numbers of the program (Lifted), and constants
        self.results: list[Any] = []              # for each input: (number, shape to expand it to or None), or None
        self.versions: dict[int, int] = {}        # number of a result -> how often gradients were added to it
        self.layouts: dict[int, Layout] = {}


def traced(part: Part, layouts: dict[int, Layout], numbers: list[float], compiles: bool) -> Backward | None:
    """The backward of a part; None if it cannot be traced."""
    touched: set[int] = set()
    try:
        first = trace_once(part, layouts, numbers, touched, compiles)
        second = trace_once(part, layouts, [1.25 * n + 0.375 for n in numbers], set(), False)
    except CannotTrace:
        return None
    if first.numbers != second.numbers or first.results != second.results or first.saved != second.saved:
        touched.update(range(len(numbers)))       # untracked code has computed with the numbers
    for step in part.steps:
        for i, place in step.numbers:
            if place in touched and step.kinds[i] == LIFTED:
                step.compare(i, numbers[place])
    return first


class Tracer:
    """Runs ops on placeholders and records them, through the mode `Trace` of deferred.py."""

    mode: Any = None                              # the class of that mode


def trace_once(part: Part, layouts: dict[int, Layout], numbers: list[float], touched: set[int],
               compiles: bool) -> Backward:
    nums = []
    for i, value in enumerate(numbers):
        num = Num(value)
        num.index, num.touched = i, touched
        nums.append(num)
    was = set_grad_enabled(True)
    mode = Tracer.mode()
    try:
        with mode:
            values: dict[int, Any] = {}
            for slot, needs in zip(part.inputs, part.needs, strict=True):
                values[slot] = placeholder(layouts[slot])
                values[slot]._requires = needs
            for step in part.steps:
                set_grad_enabled(step.grad)
                out = values[step.event.value] = dispatch.call(step.op, arguments(step, values, nums))
                if not isinstance(out, Tensor) or layout_of(out.array) is not layouts[step.event.value]:
                    raise CannotTrace
            forward = len(mode.waiting.events)
            outs = [values[slot] for slot in part.outputs]
            grads = [placeholder(layouts[slot]) for slot in part.outputs]
            sources = [values[slot] for slot, needs in zip(part.inputs, part.needs, strict=True) if needs]
            found = iter(run_pass([(edge_of(t), t._nr) for t in outs], grads, True, False,
                                  [(edge_of(t), t._nr) for t in sources], False))
            results = [next(found) if needs else None for needs in part.needs]
            return assembled(part, mode, values, grads, results, forward, compiles)
    except CannotTrace:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise CannotTrace from error
    finally:
        set_grad_enabled(was)


def placeholder(layout: Layout) -> Any:
    array = layout.new()
    array[...] = 0
    return new_tensor(array)


def assembled(part: Part, mode: Any, values: Any, grads: Any, results: Any, forward: int, compiles: bool) -> Backward:
    """A Backward of the traced ops, of which the first `forward` are the part's own."""
    waiting, made = mode.waiting, Backward()
    for t in [*values.values(), *grads]:          # unused values may be results
        if waiting.find(t.array) < 0:
            waiting.read(t.array, ())
    events: list[Event] = [Event(e.choice, e.operands, e.value, e.layout, e.type, e.inner) for e in waiting.events]
    by_array = {id(array): number for number, array in enumerate(mode.arrays())}
    base = dict(enumerate(range(len(by_array))))  # value -> the value that it is an expansion of
    for number, array in enumerate(mode.arrays()):
        if id(array) in mode.expanded:
            root = mode.expanded[id(array)][0]
            if id(root) not in by_array:
                by_array[id(root)] = waiting.read(root, ())
            base[number] = base.get(by_array[id(root)], by_array[id(root)])
    for event in events:
        if event.inner >= 0 and any([base[o] != o for o in event.operands if o >= 0]):
            raise CannotTrace                     # the result depends on the shape of the summed value
        event.operands = tuple([base.get(o, o) if o >= 0 else o for o in event.operands])
    of_slot = {slot: by_array.get(id(t.array), -1) for slot, t in values.items()}
    of_number = {number: slot for slot, number in of_slot.items() if number >= 0}
    for result in results:
        found = None if result is None else found_value(result, by_array, base, mode)
        made.results.append(found)
        if found is not None and result._counter is not None:
            made.versions[found[0]] = result._counter.n
    wanted = {found[0] for found in made.results if found is not None}
    own, needed = {e.value: e for e in events[:forward]}, set(wanted)
    for event in reversed(events[forward:]):
        if event.value in needed:
            needed.update([o for o in event.operands if o >= 0])
    used = [number for number in sorted(needed) if number in of_number]
    # Recompute forward values from saved ones where elementwise ops do so cheaply.
    given = {number for number in used if number not in own}
    again: set[int] = set()
    for event in events[:forward]:
        if event.inner < 0 and (event.layout.span <= LIGHT or not calls_functions(event)) and all(
                [o < 0 or o in given or o in again for o in event.operands]):
            again.add(event.value)
        elif event.value in needed:
            given.add(event.value)
    saved = [number for number in used if number not in again]
    made.saved = [(of_number[number], number) for number in saved]
    made.grads = [(by_array.get(id(t.array), -1), layout_of(t.array)) for t in grads]
    made.layouts = dict(enumerate(waiting.layouts))
    made.count = len(waiting.layouts)
    made.numbers = [Lifted(n.index) if type(n) is Num else n for n in waiting.numbers]
    computed = {e.value for e in events[forward:]} | again
    made.code = Code([e for e in events if e.value in computed], made.layouts, {w for w in wanted if w in computed}, compiles,
                     made.numbers)
    return made


def calls_functions(event: Event) -> bool:
    """Whether an op calls a math function, which costs more than loading its value."""
    return any([isinstance(part, ast.Call) for _, e in event.choice.program.steps for part in ast.walk(e)])


def found_value(result: Any, by_array: Any, base: Any, mode: Any) -> Any:
    array = result.array
    shape = None
    if id(array) in mode.expanded:
        shape = array.shape
        array = mode.expanded[id(array)][0]
    if id(array) not in by_array:
        raise CannotTrace
    return base.get(by_array[id(array)], by_array[id(array)]), shape
