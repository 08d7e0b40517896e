"""From ops that wait to one call of compiled code: which of them share a loop, what is stored, and where the arrays lie."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from retrograd.codegen.fused import Region, Statement, source
from retrograd.codegen.library import load, pool
from retrograd.codegen.table import DOUBLES, FLOATS, Kernel, alternatives
from retrograd.compile.waiting import Choice, Event, Layout
from retrograd.core.storage import address


def choices_of(op: Any) -> list[Choice]:
    """The alternatives of an op that regions can hold; none if it is not computed element by element."""
    if not op.lower or op.functional is not None or op.is_inplace or op.is_out or op.multiple or op.composite:
        return []
    if isinstance(op.lower, str) and (op.lower.startswith("@") or op.lower in ("matmul", "bmm")):
        return []
    kernels = [Kernel(op, i, guard, text) for i, (guard, text) in enumerate(alternatives(op.lower))]
    if any([k.program.family != "point" for k in kernels]):
        return []
    return [Choice(op, k.program, k.guard, "f" * bool(k.types & FLOATS) + "d" * bool(k.types & DOUBLES)) for k in kernels]


class Call:
    """One region with the geometry of its arrays."""

    def __init__(self, region: Region, shape: tuple[int, ...], layouts: dict[int, Layout]) -> None:
        self.region = region
        self.values = [value for value, _ in (*region.inputs, *region.outputs)]
        self.numbers = region.numbers()
        self.geometry = np.array(geometry(shape, [layouts[value] for value in self.values]), np.int64)
        self.geometry_at = self.geometry.ctypes.data
        self.function: Any = None


def geometry(shape: tuple[int, ...], layouts: list[Layout]) -> list[int]:
    """How to walk over arrays that broadcast to `shape`, in as few and as long rows as they allow (see native/fused.h)."""
    strides = []
    for layout in layouts:
        missing = len(shape) - len(layout.shape)
        strides.append([0] * missing + [0 if n == 1 else s for n, s in zip(layout.shape, layout.strides, strict=True)])
    lead = strides[-1]                               # the order in which the result lies in memory
    order = sorted(range(len(shape)), key=lambda d: -lead[d])
    dims: list[list[Any]] = []                       # [size, strides of the operands]
    for d in order:
        if shape[d] == 1:
            continue
        steps = [s[d] for s in strides]
        if dims and all([old == new * shape[d] for old, new in zip(dims[-1][1], steps, strict=True)]):
            dims[-1] = [dims[-1][0] * shape[d], steps]
        else:
            dims.append([shape[d], steps])
    if not dims:
        dims = [[1, [0] * len(layouts)]]
    n, inner = dims.pop()
    rows = 1
    for size, _ in dims:
        rows *= size
    outer = [steps[o] for o in range(len(layouts)) for _, steps in dims]
    return [len(layouts), len(dims), rows, n, *inner, *[size for size, _ in dims], *outer]


class Code:
    """What a sequence of waiting ops has been compiled to. `run` computes the values that are wanted."""

    def __init__(self, events: list[Event], layouts: dict[int, Layout], wanted: set[int], compiles: bool = True) -> None:
        self.calls, self.temporary = plan(events, layouts, wanted)
        self.layouts = layouts
        self.source = source([call.region for call in self.calls]) if self.calls else ""
        library = load(self.source) if self.calls and compiles else None
        self.works = library is not None or not self.calls
        if library is not None:
            for i, call in enumerate(self.calls):
                call.function = getattr(library, f"run{i}")
                call.function.argtypes = [ctypes.c_void_p] * 4
                call.function.restype = None

    def run(self, arrays: Any, numbers: list[float]) -> None:
        """`arrays` has the inputs and the wanted results by number."""
        arrays = list(arrays)
        for value in self.temporary:
            arrays[value] = self.layouts[value].new()
        for call in self.calls:
            pointers = (ctypes.c_void_p * len(call.values))(*[address(arrays[value]) for value in call.values])
            given = (ctypes.c_double * (len(call.numbers) or 1))(*[numbers[i] for i in call.numbers])
            call.function(pointers, call.geometry_at, given, pool())


def plan(events: list[Event], layouts: dict[int, Layout], wanted: set[int]) -> tuple[list[Call], list[int]]:
    """The calls that compute `wanted`, and the values between them that nobody else wants."""
    needed = set(wanted)
    for event in reversed(events):
        if event.value in needed:
            needed.update([operand for operand in event.operands if operand >= 0])
    groups: list[tuple[Any, list[Event]]] = []       # ((shape, type), events)
    place: dict[int, int] = {}                       # value -> the group that makes it
    for event in events:
        if event.value not in needed:
            continue
        kind = event.layout.shape, event.type
        after = max([place.get(operand, 0) for operand in event.operands], default=0)
        at = next((g for g in range(after, len(groups)) if groups[g][0] == kind), len(groups))
        if at == len(groups):
            groups.append((kind, []))
        groups[at][1].append(event)
        place[event.value] = at
    calls, temporary = [], []
    for g, ((shape, type_), members) in enumerate(groups):
        made = {event.value for event in members}
        inputs = list(dict.fromkeys([o for event in members for o in event.operands if o >= 0 and o not in made]))
        later = {o for _, others in groups[g + 1:] for event in others for o in event.operands}
        outputs = [event.value for event in members if event.value in wanted or event.value in later]
        temporary += [value for value in outputs if value not in wanted]
        region = Region(type_, tuple([(v, layouts[v].char) for v in inputs]), tuple([(v, layouts[v].char) for v in outputs]),
                        tuple([statement(event) for event in members]),
                        frozenset([v for v in inputs if layouts[v].size == 1]))
        calls.append(Call(region, shape, layouts))
    return calls, temporary


def statement(event: Event) -> Statement:
    names = [name for _, name, _ in event.choice.tensors] + [name for _, name in event.choice.numbers]
    return Statement(event.choice.program, {name: f"a{o}" if o >= 0 else f"n{-1 - o}"
                                            for name, o in zip(names, event.operands, strict=True)}, event.value)
