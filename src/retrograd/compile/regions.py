"""Compiles deferred ops into one call: which of them share a loop, which values are stored, and the arrays' geometry."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from retrograd.codegen.fused import Region, Sequence, Statement, source
from retrograd.codegen.library import load, pool
from retrograd.codegen.loops import alternatives
from retrograd.codegen.table import DOUBLES, FLOATS, Kernel
from retrograd.compile.waiting import Choice, Event, Layout
from retrograd.core import dispatch
from retrograd.core.opdef import OpDef
from retrograd.core.storage import address
from retrograd.core.tensor import wrap

LONGEST = 32                      # maximum ops in one loop: compile time grows faster than linearly
MANY = 512                        # the same for single elements

empty, uint8 = np.empty, np.uint8


def choices_of(op: OpDef) -> list[Choice]:
    """The alternatives of an op that regions support; none if it is neither elementwise nor a sum."""
    if not op.lower or op.functional is not None or op.is_inplace or op.is_out or op.multiple or op.composite:
        return []
    if isinstance(op.lower, str) and op.lower.startswith("@"):
        return []
    kernels = [Kernel(op, i, guard, text) for i, (guard, text) in enumerate(alternatives(op.lower))]
    if any([k.program.family == "row" or k.program.family == "reduce" and k.program.reducer not in ("sum", "mean")
            for k in kernels]):
        return []
    return [Choice(op, k.program, k.guard, "f" * bool(k.types & FLOATS) + "d" * bool(k.types & DOUBLES)) for k in kernels]


class Call:
    """One region with the geometry of its arrays."""

    def __init__(self, region: Region, shape: tuple[int, ...], layouts: dict[int, Layout], inner: list[int]) -> None:
        self.region = region
        self.values = [*[value for value, _ in (*region.inputs, *region.outputs)], *[s.value for s in region.sums]]
        self.numbers = region.numbers()
        count = len(self.values) - len(region.sums)
        self.geometry = np.array(geometry(shape, [layouts[value] for value in self.values[:count]], inner), np.int64)
        self.geometry_at = self.geometry.ctypes.data


def geometry(shape: tuple[int, ...], layouts: list[Layout], inner: list[int]) -> list[int]:
    """The iteration over arrays that broadcast to `shape`, in as few and as long rows as possible (see native/fused.h).
    `inner` has the number of trailing dims of each sum; with it, dims are iterated in order.
    """
    strides = []
    for layout in layouts:
        missing = len(shape) - len(layout.shape)
        strides.append([0] * missing + [0 if n == 1 else s for n, s in zip(layout.shape, layout.strides, strict=True)])
    order = list(range(len(shape)))
    if not inner:                                    # the memory order of the result
        order.sort(key=lambda d: -strides[-1][d])
    ends = {len(shape) - n for n in inner}           # a row must not span two results
    dims: list[list[Any]] = []                       # [size, strides of the operands, the first of its merged dims]
    for d in order:
        if shape[d] == 1:
            continue
        steps = [s[d] for s in strides]
        if dims and all([old == new * shape[d] for old, new in zip(dims[-1][1], steps, strict=True)]) and not any(
                [dims[-1][2] < end <= d for end in ends]):
            dims[-1] = [dims[-1][0] * shape[d], steps, dims[-1][2]]
        else:
            dims.append([shape[d], steps, d])
    if not dims or inner and dims[-1][2] < max(ends):      # no trailing dim to iterate: a row is one element
        dims.append([1, [0] * len(layouts), len(shape)])
    n, steps, _ = dims.pop()
    rows = 1
    for size, _, _ in dims:
        rows *= size
    outer = [step[o] for o in range(len(layouts)) for _, step, _ in dims]
    groups = []
    for count in inner:
        group = 1
        for size, _, first in dims:
            group *= size if first >= len(shape) - count else 1
        groups.append(group)
    sums = [0] * len(inner)                          # their results are indexed by row
    outer += [0] * (len(inner) * len(dims))
    return [len(layouts) + len(inner), len(dims), rows, n, *steps, *sums, *[size for size, _, _ in dims], *outer, *groups]


class Lifted(NamedTuple):
    """A Python number of a program, by its index."""

    place: int


def renumbered(events: list[Event], numbers: Any, layouts: dict[int, Layout]) -> tuple[list[Event], list[Any]]:
    """The events with only the numbers that they use, deduplicated; `numel` becomes one of them."""
    places: dict[Any, int] = {}
    used: list[Any] = []

    def place(number: Any) -> int:
        found = places.setdefault((type(number), repr(number)), len(used))
        if found == len(used):
            used.append(number)
        return -1 - found
    made = []
    for event in events:
        operands = [o if o >= 0 else place(numbers[-1 - o]) for o in event.operands]
        if event.choice.counted >= 0:
            counted = event.operands[event.choice.counted]
            operands.append(place(layouts[counted].size if counted >= 0 else 1))
        made.append(Event(event.choice, tuple(operands), event.value, event.layout, event.type, event.inner))
    return made, used


class Code:
    """The compiled code of a sequence of deferred ops; `run` computes the wanted values."""

    def __init__(self, events: list[Event], layouts: dict[int, Layout], wanted: set[int], compiles: bool = True,
                 numbers: Any = None) -> None:
        if numbers is None:                       # all of them are lifted
            numbers = [Lifted(i) for i in range(1 + max([-1 - o for e in events for o in e.operands], default=-1))]
        events, used_numbers = renumbered(events, numbers, layouts)
        self.events, self.numbers = events, used_numbers
        self.template = (ctypes.c_double * len(used_numbers))(*[0 if type(n) is Lifted else n for n in used_numbers])
        self.lifted = [(i, n.place) for i, n in enumerate(used_numbers) if type(n) is Lifted]
        self.calls, temporary = plan(events, layouts, wanted)
        used = dict.fromkeys([value for call in self.calls for value in call.values if value not in temporary])
        self.order = list(used)                   # the given and wanted values
        number = {value: i for i, value in enumerate([*self.order, *temporary])}
        program = Sequence([call.region for call in self.calls], [[number[v] for v in call.values] for call in self.calls],
                          len(self.order), len(temporary))
        self.source = source(program) if self.calls else ""
        library = load(self.source) if self.calls and compiles else None
        offsets = [0]
        for value in temporary:
            offsets.append(offsets[-1] + (layouts[value].span + 63) // 64 * 64)
        self.scratch = offsets[-1]
        self.offsets = (ctypes.c_long * len(offsets))(*offsets)
        self.geometries = (ctypes.c_void_p * len(self.calls))(*[call.geometry_at for call in self.calls])
        self.pointers: Any = ctypes.c_void_p * len(self.order)
        self.function: Any = None
        if library is not None:
            self.function = library.run_all
            self.function.argtypes = [ctypes.c_void_p] * 6
            self.function.restype = None

    def run(self, arrays: Any, numbers: list[float]) -> None:
        """`arrays` has the inputs and the wanted results by number."""
        if self.function is None:
            values = [n if type(n) is not Lifted else numbers[n.place] for n in self.numbers]
            interpret(self.events, list(arrays), values)
            return
        pointers = self.pointers(*[address(arrays[value]) for value in self.order])
        given = self.template
        if self.lifted:
            given = type(given).from_buffer_copy(given)
            for i, place in self.lifted:
                given[i] = numbers[place]
        between = empty(self.scratch, uint8) if self.scratch else None
        self.function(pointers, self.geometries, given, pool(), None if between is None else address(between), self.offsets)


def interpret(events: list[Event], arrays: list[Any], numbers: list[float]) -> None:
    """Run the ops one by one, without compiled code."""
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
        for i, operand in zip(places, event.operands, strict=choice.counted < 0):
            args[i] = wrap(arrays[operand]) if operand >= 0 else numbers[-1 - operand]
        result = dispatch.compute(choice.op, args).array
        if result.size != event.layout.size:      # the operands are passed unexpanded
            result = np.broadcast_to(result, event.layout.shape)
        if arrays[event.value] is None:
            arrays[event.value] = result.reshape(event.layout.shape)
        else:
            arrays[event.value][...] = result.reshape(arrays[event.value].shape)


def plan(events: list[Event], layouts: dict[int, Layout], wanted: set[int]) -> tuple[list[Call], list[int]]:
    """The calls that compute `wanted`, and their internal intermediate values."""
    needed = set(wanted)
    for event in reversed(events):
        if event.value in needed:
            needed.update([operand for operand in event.operands if operand >= 0])
    groups: list[tuple[Any, list[Event]]] = []       # ((shape, type), events)
    ready: dict[int, int] = {}                       # value -> the first group that can use it
    for event in events:
        if event.value not in needed:
            continue
        shape = event.layout.shape if event.inner < 0 else layouts[event.operands[0]].shape
        kind = shape, event.type
        after = max([ready.get(operand, 0) for operand in event.operands], default=0)
        most = MANY if all([n == 1 for n in shape]) else LONGEST
        at = next((g for g in range(after, len(groups)) if groups[g][0] == kind and len(groups[g][1]) < most), len(groups))
        if at == len(groups):
            groups.append((kind, []))
        groups[at][1].append(event)
        ready[event.value] = at + (event.inner >= 0)
    calls, temporary = [], []
    for g, ((shape, type_), members) in enumerate(groups):
        made = {event.value for event in members}
        inputs = list(dict.fromkeys([o for event in members for o in event.operands if o >= 0 and o not in made]))
        later = {o for _, others in groups[g + 1:] for event in others for o in event.operands}
        outputs = [event.value for event in members if event.inner < 0 and (event.value in wanted or event.value in later)]
        sums = [event for event in members if event.inner >= 0]
        temporary += [value for value in [*outputs, *[event.value for event in sums]] if value not in wanted]
        region = Region(type_, tuple([(v, layouts[v].char) for v in inputs]), tuple([(v, layouts[v].char) for v in outputs]),
                        tuple([statement(event) for event in members if event.inner < 0]),
                        tuple([statement(event) for event in sums]),
                        frozenset([v for v in inputs if layouts[v].size == 1]), all([n == 1 for n in shape]))
        calls.append(Call(region, shape, layouts, [event.inner for event in sums]))
    return calls, temporary


def statement(event: Event) -> Statement:
    choice = event.choice
    names = [name for _, name, _ in choice.tensors] + [name for _, name in choice.numbers] + ["numel"] * (choice.counted >= 0)
    return Statement(choice.program, {name: f"a{o}" if o >= 0 else f"n{-1 - o}"
                                            for name, o in zip(names, event.operands, strict=True)}, event.value)
