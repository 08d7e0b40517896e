"""C text of fused regions: many ops, one loop over their elements.

A region is a list of statements. Each has the program of an op (see loops.py), the names of the values that its operands are,
and the number of the value it makes. Values used outside are stored; the others live in registers. Names are generated from
numbers: no text of a user's program enters the source.
"""
from __future__ import annotations

import ast
import copy
import re
from typing import Any, NamedTuple

from retrograd.codegen.c import expression, far_test
from retrograd.codegen.loops import FAR, Program, Substitute, names_in

ELEMENTS = {"f": "float", "d": "double", "?": "uint8_t"}
LARGEST = {"f": "__FLT_MAX__", "d": "__DBL_MAX__"}
KINDS = {"f": "f", "d": "d", "?": "b"}


class Statement(NamedTuple):
    """One op of a region: `names` maps the names in its program to those of the region (a3: value 3, n5: number 5)."""

    program: Program
    names: dict[str, str]
    value: int


class Region(NamedTuple):
    """Statements over arrays of one shape, all in one computing type ("f" or "d")."""

    type: str
    inputs: tuple[tuple[int, str], ...]           # (value, dtype) of each load
    outputs: tuple[tuple[int, str], ...]          # and of each store
    statements: tuple[Statement, ...]
    sums: tuple[Statement, ...]                   # reductions of the statements' values, in the dtypes of the region
    single: frozenset[int]                        # inputs that have one element
    scalar: bool = False                          # all arrays have one element: vectorisation gains nothing

    def numbers(self) -> list[int]:
        """The numbers that the region uses, in order."""
        used = (*self.statements, *self.sums)
        return sorted({int(name[1:]) for s in used for name in s.names.values() if name[0] == "n"})


def rename(e: Any, names: dict[str, str]) -> Any:
    """An expression of a program with the variables of the region."""
    return Substitute({name: ast.Name(other) for name, other in names.items()}).visit(copy.deepcopy(e))


def renamed(statement: Statement) -> list[tuple[str, Any]]:
    """The steps of a statement as (name, expression) of the region; the last one makes its value."""
    program, names, value = statement
    local = {name: f"t{value}_{i}" for i, (name, _) in enumerate(program.steps[:-1])}
    known = {**names, **local}
    steps = [(local.get(name, ""), rename(e, known)) for name, e in program.steps[:-1]]
    return [*steps, (f"a{value}", rename(program.steps[-1][1], known))]


def region_text(region: Region, name: str) -> str:
    """A C function over one run of elements of the region's operands: inputs first, then outputs."""
    out: list[str] = []
    emit, c = out.append, region.type
    place = {value: i for i, (value, _) in enumerate(region.inputs)}
    emit(f"#define T {ELEMENTS[c]}")
    numbers = [f"  const T v_n{number} = (T)num[{i}].d;" for i, number in enumerate(region.numbers())]
    emit(f"static void {name}(char **p, const long *s, long n, const Number *num, double *sums, int streams) {{")
    out += numbers
    steps = [step for statement in region.statements for step in renamed(statement)]
    if any(["largest" in names_in(e) for _, e in steps]):
        emit(f"  const T v_largest = {LARGEST[c]};")
    for i in range(len(region.sums)):
        emit(f"  double sum{i} = 0;")
    for value, dtype in region.inputs:
        if value in region.single:
            emit(f"  const T v_a{value} = (T)*(const {ELEMENTS[dtype]} *)p[{place[value]}];")
    emit("  for (long b = 0, m; b < n; b += m) { m = n - b < BLOCK ? n - b : BLOCK;")
    loads = []
    for value, dtype in region.inputs:
        if value not in region.single:
            emit(f"    LOAD({ELEMENTS[dtype]}, {c}{KINDS[dtype]}, {place[value]})")
            loads.append(f"const T v_a{value} = q_{place[value]}[j];")
    first = len(region.inputs)
    for i, (_, dtype) in enumerate(region.outputs):
        emit(f"    PLACE({ELEMENTS[dtype]}, {first + i})")
    lines = [*loads, *[f"const T v_{target} = (T){expression(e, c)};" for target, e in steps]]
    lines += [f"z_{first + i}[j] = v_a{value};" for i, (value, _) in enumerate(region.outputs)]
    terms = [("", rename(s.program.term, s.names)) for s in region.sums]
    lines += [f"b{i} += (T){expression(e, c)};" for i, (_, e) in enumerate(terms)]
    body = "\n      ".join(lines)
    far = far_test([*steps, *terms], c)
    parts = [f"b{i}" for i in range(len(terms))]
    zero = f"    T {', '.join([f'{part} = 0' for part in parts])};" if parts else ""
    added = f" reduction(+:{', '.join(parts)})" if parts else ""
    simd, wide = ("", "") if region.scalar else (f'_Pragma("omp simd{added}")', f'_Pragma("omp simd reduction(|:far){added}")')
    if far:                                        # an argument of sin is too large: run again with the C library's function
        tests = " | ".join(far)
        exact = re.sub(rf"\b({'|'.join(sorted(FAR))})_{c}\(", rf"\1_{c}_exact(", body)
        emit(f'{zero}    int far = 0; {wide} for (long j = 0; j < m; j++) {{')
        emit(f"      {body}\n      far |= {tests}; }}")
        again = " ".join([f"{part} = 0;" for part in parts])
        emit(f"    if (far) {{ {again} for (long j = 0; j < m; j++) {{\n      {exact} }} }}")
    else:
        emit(f'{zero}    {simd} for (long j = 0; j < m; j++) {{\n      {body} }}')
    for i in range(len(region.sums)):
        emit(f"    sum{i} += b{i};")
    for i, (_, dtype) in enumerate(region.outputs):
        emit(f"    STORE({ELEMENTS[dtype]}, {c}{KINDS[dtype]}, {first + i})")
    emit("  }")
    for i in range(len(region.sums)):
        emit(f"  sums[{i}] = sum{i};")
    emit("}")
    emit("#undef T")
    for i, statement in enumerate(region.sums):
        finish = rename(statement.program.finish, statement.names)
        emit("#define T double")
        emit(f"static void {name}_finish{i}(char **p, long at, const double *sums, double v_n, const Number *num) {{")
        out += numbers
        result = f"(({ELEMENTS[c]} *)p[{first + len(region.outputs) + i}])[at]"
        emit(f"  const T v_acc = *sums; {result} = ({ELEMENTS[c]}){expression(finish, 'd')}; }}")
        emit("#undef T")
    return "\n".join(out)


class Sequence(NamedTuple):
    """Regions that run in sequence; values are renumbered: those passed by pointer first, then those between regions."""

    regions: list[Region]
    operands: list[list[int]]                     # for each region, its values by their new numbers
    given: int
    between: int


def source(program: Sequence) -> str:
    """A C file with one entry, `run_all`."""
    regions = program.regions
    parts = ['#include "fused.h"']
    for i, region in enumerate(regions):
        parts.append(region_text(region, f"region{i}"))
        ends = ", ".join([f"region{i}_finish{k}" for k in range(len(region.sums))])
        parts.append(f"static const Finish finish{i}[] = {{{ends or '0'}}};")
    parts.append('__attribute__((visibility("default"))) void run_all(char **p, const long **g, const Number *num, '
                 "Parallel parallel, char *between, const long *offsets) {")
    parts.append(f"  char *v[{program.given + program.between}];")
    parts.append(f"  for (int i = 0; i < {program.given}; i++) v[i] = p[i];")
    parts.append(f"  for (int i = 0; i < {program.between}; i++) v[{program.given} + i] = between + offsets[i];")
    for i, (region, operands) in enumerate(zip(regions, program.operands, strict=True)):
        pointers = ", ".join([f"v[{o}]" for o in operands])
        numbers = ", ".join([f"num[{n}]" for n in region.numbers()]) or "{0}"
        parts.append(f"  {{ char *q[] = {{{pointers}}}; const Number m[] = {{{numbers}}};")
        last = int(all([o < program.given for o in operands[len(region.inputs):]]))
        parts.append(f"    run(region{i}, q, g[{i}], m, parallel, {len(region.sums)}, finish{i}, {last}); }}")
    parts.append("}")
    return "\n".join(parts) + "\n"
