"""Generates C files from the op table: the loops of every op's `lower`, and a description of each kernel. `write(folder)`
writes the C files of loops (each compiled once per instruction set) and kernels_info.h, which
native/kernel.c includes. It runs at build time, from the sources.
"""
from __future__ import annotations

import ast
from copy import deepcopy
from pathlib import Path
from typing import Any
from zlib import crc32

from retrograd.codegen import c
from retrograd.codegen.loops import REDUCE, Program, alternatives, only_integral
from retrograd.codegen.rules import LoweredRule, lowered_rules, renamed
from retrograd.core.fast_kernels import ALGORITHM, is_lowered
from retrograd.core.opdef import OPS, OpDef
from retrograd.core.schema import REQUIRED

FILES = 8                          # files of loops, compiled in parallel
FLOATS, DOUBLES, INTS, BOOLS, WHOLE = 1, 2, 4, 8, 16
JOINS, FLOATING, NO_BOOLS = 1, 2, 4          # as in native/kernel.h
REDUCERS = {"sum": "+", "prod": "*", "max": ">", "min": "<"}
NUMBERS = ("Scalar", "float", "int", "bool")
# Programs without an op, for native/native.h. The tensors are named first, then the numbers.
INTERNAL = {
    "copy": ("x", "", "x"),
    "sum": ("x", "", "sum(x)"),
    "mean": ("x", "", "mean(x)"),
    "deviation": ("x m", "", "sum((x - m) * (x - m))"),
    "dot": ("g x", "m", "sum(g * (x - m))"),
    "affine": ("x", "m a b", "(x - m) * a + b"),
    "gate": ("x y", "", "x * (1 / (1 + exp(-y)))"),
    "gradient": ("g x", "a m b c", "g * a + (x - m) * b + c"),
    # updates of optimizers, in place: see `update` in native/native.h
    "adam": ("", "", "p, g, m, v, one:num, two:num, keep:num, rate:num, root:num, eps:num -> p, m, v | m = m + one * (g - m); "
                     "v = v * (1 - two) + two * g * g; p = p * keep - rate * m / (sqrt(v) / root + eps)"),
    "adam_decay": ("", "", "p, g, m, v, one:num, two:num, decay:num, rate:num, root:num, eps:num -> p, m, v | h = g + "
                           "decay * p; "
                           "m = m + one * (h - m); v = v * (1 - two) + two * h * h; "
                           "p = p - rate * m / (sqrt(v) / root + eps)"),
    # batch norm of matrices, whose channels are the columns
    "products": ("g x m", "", "sum(g * (x - m))"),
    "shifted": ("", "", "x, m:col, a:col, b:col -> z | z = (x - m) * a + b"),
    "slopes": ("", "", "g, x, m:col, a:col, b:col, c:col -> z | z = g * a + (x - m) * b + c"),
    "layer_norm": ("", "", "x, w:col, b:col, eps:num -> z, mu:row, rs:row | mu = mean(x); d = x - mu; "
                           "rs = 1 / sqrt(mean(d * d) + eps); z = d * rs * w + b"),
    "layer_norm_backward": ("", "", "g, x, mu:row, rs:row, w:col -> z, dw:col, db:col | h = (x - mu) * rs; t = g * w; "
                                    "z = rs * (t - mean(t) - h * mean(t * h)); dw = sum(g * h); db = sum(g)"),
    "layer_norm_input": ("", "", "g, x, mu:row, rs:row, w:col -> z | h = (x - mu) * rs; t = g * w; "
                                 "z = rs * (t - mean(t) - h * mean(t * h))"),
}


def kernel_name(op: OpDef) -> str:
    return f"{op.name}_{op.overload}"


class Kernel:
    """One alternative of an op's `lower`, with the metadata for native/kernel.c."""

    def __init__(self, op: OpDef, number: int, guard: dict[str, Any], text: str) -> None:
        self.op: Any = op
        self.guard = guard
        params = op.schema.params
        tensors = {p.name: "elem" for p in params if p.type == "Tensor" and not p.is_list and guard.get(p.name, 0) is not None}
        numbers = [p.name for p in params if p.type in NUMBERS and not p.is_list and p.name not in guard]
        self.name = kernel_name(op)
        self.program = Program(f"{self.name}_{number}" if number else self.name, text, tensors, numbers)
        p = self.program
        self.types = self.allowed(p)
        reducing = p.family == "reduce"
        truth = p.is_boolean
        counts = reducing and REDUCE[p.reducer] == "sum" and isinstance(p.term, ast.Compare)
        widens = reducing and p.reducer in ("sum", "prod")
        self.out = "i" if counts else "b" if truth or op.promote == "compare" else "l" if widens else "s"
        self.params = [self.param(q) for q in params]

    def allowed(self, p: Program) -> int:
        op = self.op
        floats_only = op.promote == "float" or "reduction" in self.guard or (op.widen and not op.exact and p.family == "point")
        if p.family == "point" and any(only_integral(e) for _, e in p.steps):
            numbers = any(q.type == "Scalar" for q in op.schema.params)          # a Scalar promotes bools to integers
            return INTS | (BOOLS if p.takes_bools and op.check is None and not numbers else 0)
        types = FLOATS | DOUBLES | WHOLE * p.whole
        if p.family == "row":
            return types
        if p.takes_ints and not floats_only:
            types |= INTS
            has_bools = (op.promote is not None and len(p.inputs) < 3) or p.is_boolean or "mask" in p.kinds.values()
            if p.takes_bools and (op.check is None and has_bools or p.family == "reduce"):
                types |= BOOLS
        return types

    @property
    def joins(self) -> int:
        """Whether operands of several dtypes meet in the loop: JOINS, FLOATING and NO_BOOLS of native/kernel.h."""
        refused = getattr(self.op.check, "refused_kinds", "") if self.op.check is not None else "c"
        if self.op.promote is None or self.program.family != "point" or refused not in ("c", "b"):
            return 0
        return JOINS + FLOATING * (self.op.promote == "float") + NO_BOOLS * (refused == "b")

    @property
    def letters(self) -> str:
        return "".join(letter for letter, bits in (("f", FLOATS), ("d", DOUBLES), ("l", INTS | BOOLS)) if self.types & bits)

    def param(self, q: Any) -> str:
        """A parameter's table row: its kind, its operand or number index, and its default."""
        p, name, default = self.program, q.name, q.default
        optional = int(default is not REQUIRED)
        value = float(default) if isinstance(default, (bool, int, float)) else 0.0
        kind, slot, text = "X", 0, "0"
        if name in self.guard:
            wanted = self.guard[name]
            kind = "O" if wanted is None else "S" if isinstance(wanted, str) else "V"
            optional = int(optional and default == wanted)
            if isinstance(wanted, str):
                text = f'"{wanted}"'
            elif wanted is not None:
                value = float(wanted)
        elif name in p.inputs:
            kind, slot = "M" if p.kinds[name] == "mask" else "T", p.inputs.index(name)
        elif name in p.numbers:
            kind, slot = "N", p.numbers.index(name)
            optional = int(optional and isinstance(default, (bool, int, float)))
        elif p.family in ("reduce", "row") and name == "dim":
            kind, slot = "D", int(q.is_list and q.list_size is None)       # for any.dims and all.dims () means no dimension
        elif p.family in ("reduce", "row") and name == "keepdim":
            kind = "K"
        elif p.family in ("reduce", "row") and q.type == "ScalarType":
            kind = "Y"
        elif isinstance(default, str):
            kind, text = "S", f'"{default}"'
        elif q.type == "Tensor":
            kind = "O"
        rounds = int(kind == "T" or (kind == "N" and name in self.op.scalars)) * int(not self.op.exact)
        joins = self.joins if kind == "T" or (kind == "N" and name in self.op.scalars) else 0
        return f"{{'{kind}', {slot}, {optional}, {rounds}, {joins}, {number(value)}, {text}}}"

    def row(self, following: int, file: int, index: int) -> str:
        p = self.program
        if p.family == "row":
            kinds = ", ".join(f"'{(p.kinds.get(n) or dict(p.outputs)[n])[0]}'" for n in p.operands)
            return (f"{{\"{self.name}\", 'l', {len(self.params)}, {len(p.inputs)}, {len(p.outputs)}, {len(p.numbers)}, "
                    f"{{{', '.join(self.params) or '{0}'}}}, {self.types}, 's', 0, '.', {p.kept}, 0, 0, 0, 0, {{{kinds}}}, "
                    "{0}, "
                    f"{following}, {file}, {index}}}")
        reducer = REDUCERS[REDUCE[p.reducer]] if p.family == "reduce" else "."
        leading = p.inputs.index(self.op.schema.params[self.op.leading].name) if self.op.leading else 0
        natural = int(p.by_rows) + 2 * int(c.is_linear(p))
        count = (p.numbers.index("numel") + 1, p.inputs.index("self")) if "numel" in p.numbers else (0, 0)
        return (f"{{\"{self.name}\", '{p.family[0]}', {len(self.params)}, {len(p.inputs)}, 1, {len(p.numbers)}, "
                f"{{{', '.join(self.params)}}}, "
                f"{self.types}, '{self.out}', {leading}, '{reducer}', 0, {int(self.op.exact)}, {natural}, "
                f"{count[0]}, {count[1]}, {{0}}, {{0}}, "
                f"{following}, {file}, {index}}}")


class RuleKernel(Kernel):
    """A derivative rule as a loop (see rules.py)."""

    def __init__(self, rule: LoweredRule) -> None:
        self.name, self.guard, self.op = rule.name, {}, Plain
        self.program = p = Program(rule.name.replace(".", "_of_"), rule.text, dict.fromkeys(rule.tensors, "elem"), rule.numbers)
        self.types, self.out = FLOATS | DOUBLES, "s"
        self.params = []
        for name in rule.parameters:
            if name in rule.defaults:
                wanted = rule.defaults[name]
                kind = "O" if wanted is None else "S" if isinstance(wanted, str) else "V"
                value = 0.0 if kind != "V" else float(wanted)
                self.params.append(f"{{'{kind}', 0, 0, 0, 0, {number(value)}, {c_string(wanted) if kind == 'S' else '0'}}}")
            else:
                kind, slots = ("T", p.inputs) if name in rule.tensors else ("N", p.numbers)
                self.params.append(f"{{'{kind}', {slots.index(name)}, 0, 0, 0, 0.0, 0}}")


class Internal(Kernel):
    """A program called by native functions."""

    def __init__(self, name: str, tensors: str, numbers: str, text: str) -> None:
        self.name, self.guard = f"_{name}", {}
        self.program = Program(f"in_{name}", text, dict.fromkeys(tensors.split(), "elem"), numbers.split())
        self.types = FLOATS | DOUBLES | (INTS if name == "copy" else 0)
        self.out, self.params, self.op = "s", [], Plain


class Plain:
    """Placeholder for the op of an internal program."""

    leading = 0
    exact = False


class Hand:
    """An op whose kernel is a function of native/native.h: `lower` is "@" and its name there."""

    def __init__(self, op: OpDef, name: str) -> None:
        self.name, self.hand = kernel_name(op), name

    def row(self, following: int, file: int, index: int) -> str:
        return (f"{{\"{self.name}\", '@', 0, 0, 0, 0, {{{{'@', 0, 0, 0, 0, 0, \"{self.hand}\"}}}}, 15, 's', 0, '.', 0, 0, "
                f"0, 0, 0, {{0}}, {{0}}, -1, 0, 0}}")


def c_string(text: str) -> str:
    """A C literal of a short word."""
    if not text.isidentifier():
        raise ValueError(f"not a word: {text!r}")
    return f'"{text}"'


def number(value: float) -> str:
    return repr(value) if abs(value) < float("inf") else "INFINITY" if value > 0 else "-INFINITY"


def kernels() -> list[Any]:
    """All alternatives of all ops, grouped by op; then the internal programs."""
    found: list[Any] = []
    for packet in OPS.values():
        for op in packet.overloads_:
            if is_lowered(op) and not str(op.lower).startswith(ALGORITHM):
                if isinstance(op.lower, str) and op.lower.startswith("@"):
                    found.append(Hand(op, op.lower[1:]))
                else:
                    found += [Kernel(op, i, guard, text) for i, (guard, text) in enumerate(alternatives(op.lower))]
    return found + [RuleKernel(rule) for rule in lowered_rules()] + [
        Internal(name, *columns) for name, columns in INTERNAL.items()]


def signature(kernel: Kernel) -> tuple[Any, ...]:
    """What the loops of a kernel compute, whatever their operands are called."""
    p = kernel.program
    names = {name: f"{kind}{i}" for kind, group in (("x", p.inputs), ("n", p.numbers)) for i, name in enumerate(group)}
    names.update({name: f"v{i}" for i, (name, _) in enumerate(p.steps)})
    return tuple([renamed(deepcopy(e), names) for _, e in p.steps]), tuple([p.kinds[n] for n in p.inputs])


def write(folder: str) -> list[str]:
    """Write the C files; return the names of those with loops."""
    made = kernels()
    files: list[list[Kernel]] = [[] for _ in range(FILES)]
    place: dict[int, tuple[int, int]] = {}
    known: dict[Any, tuple[int, int]] = {}
    for kernel in made:
        shared = signature(kernel) if isinstance(kernel, Kernel) and kernel.program.family == "point" else None
        if isinstance(kernel, RuleKernel) and shared in known:
            place[id(kernel)] = known[shared]
        elif not isinstance(kernel, Hand):
            file = crc32(kernel.name.encode()) % FILES      # a new op changes, and recompiles, one file only
            place[id(kernel)] = file, len(files[file])
            files[file].append(kernel)
            if shared is not None and kernel.types & (FLOATS | DOUBLES) == FLOATS | DOUBLES:
                known[shared] = place[id(kernel)]
    for f, group in enumerate(files):
        write_if_changed(Path(folder) / f"loops{f}.c", c.source([(k.program, k.letters) for k in group], f"loops{f}", f == 0))
    rows = []
    for i, kernel in enumerate(made):
        last = i + 1 == len(made) or made[i + 1].name != kernel.name
        rows.append(kernel.row(-1 if last else i + 1, *place.get(id(kernel), (0, 0))))
    tables = "".join(f"extern HIDDEN const Entry loops{f}_v4[], loops{f}_v3[], loops{f}_v2[], "
                     f"loops{f}_plain[];\n" for f in range(FILES))
    names = {isa: f"static const Entry *const tables_{isa}[] = {{{', '.join(f'loops{f}_{isa}' for f in range(FILES))}}};\n"
             for isa in ("v4", "v3", "v2", "plain")}
    write_if_changed(Path(folder) / "kernels_info.h",
                     f"#include <math.h>\n#define COUNT {len(rows)}\n" + "".join(
                         f"#define IN{k.name} {i}\n" for i, k in enumerate(made) if isinstance(k, Internal))
                     + "static Info infos[] = {\n" + ",\n".join(rows) + "\n};\n"
                     + tables + "#ifdef HAVE_ISAS\n" + names["v4"] + names["v3"] + names["v2"]
                     + "#else\n" + names["plain"] + "#endif\n")
    return [f"loops{f}.c" for f in range(FILES)]


def write_if_changed(path: Path, text: str) -> None:
    """Leave an unchanged file's timestamp, so that it is not recompiled."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
