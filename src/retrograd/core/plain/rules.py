"""Running nodes in the plain core: one generated function per op, on bare arrays where possible.

NOTE [Rules on arrays]
A derivative formula is written with tensors, so that it can be differentiated and seen by modes. In most backward passes
neither is needed, and the intermediate tensors of a formula are pure overhead. So rules are traced. A rule of an elementwise
op runs on a few small tensors while a dispatch mode records the ops it calls: if all of them are kernels of arrays alone, and
the same ones for every shape and precision, they are the rule for ordinary operands. A rule may also provide its own form for
arrays (`rule.bare`), which returns None for unsupported arguments. Other rules, and other operands, have programs for each
geometry they meet (programs.py). The tensor form is part of the same function, and handles everything else: modified saved
tensors, `create_graph`, active modes.
"""
from __future__ import annotations

from math import isfinite
from textwrap import indent
from typing import Any

import numpy as np

from retrograd.core.modes import pop_mode, push_mode
from retrograd.core.opdef import OpDef
from retrograd.core.plain.operators import COMMON, KEEPS_ARRAYS, new_text, run_text
from retrograd.core.plain.programs import Programs, saved_slots
from retrograd.core.recipe import ATTR, GRAD, GRADS, NEEDED, NOT_IMPLEMENTED, SAVED, VALUE
from retrograd.core.record import OpNode, check_rule, check_saved, rule_arguments, unpack_fast
from retrograd.core.saved import SavedTensor
from retrograd.core.state import set_grad_enabled, tls
from retrograd.core.tensor import new_tensor

# `run_flags` are bits from the engine: 1, release the saved tensors; 2, no recording and no mode

HEAD = """
def run(self, grads, needed, run_bits):
    grad = grads[0]
"""

# `g`, if the incoming gradient is ordinary (the engine has fitted it to the node)
ORDINARY = """
g = None
if bare:
    d = self._dtype_
    if d is F32 or d is F64:
        g = grad.array
        flat = g.ndim < 2
        if not flat and not g.flags.c_contiguous and (SAVES_NOTHING or any(g.strides) or 1 in g.shape):
            g = None                  # (one number expanded leaves the order to what it meets)
"""

WANTED = "nexts[EDGE] is not None and (needed is None or needed[EDGE])"

# the array of a saved tensor or number, if it is ordinary too
ARRAY = """
ySLOT = saved[SLOT]
if isinstance(ySLOT, Tensor):
    c = ySLOT._counter
    if not ySLOT._flags and ySLOT._extra is None and (
            c is None or c.n == (0 if self._versions_ is None else self._versions_[SLOT])):
        ySLOT = ySLOT.array
elif type(ySLOT) is float:
    ySLOT = constant(ySLOT, d)
"""

# the array of a saved tensor that was not modified
OPERAND = """
ySLOT = saved[SLOT]
if type(ySLOT) is not ndarray and isinstance(ySLOT, Tensor):
    c = ySLOT._counter
    if not ySLOT._flags and ySLOT._extra is None and (
            c is None or c.n == (0 if self._versions_ is None else self._versions_[SLOT])):
        ySLOT = ySLOT.array
"""

FITS = "type(ySLOT) is ndarray and ySLOT.dtype is d and (flat or ySLOT.flags.c_contiguous)"

# the usual case of `unpack_fast`: an unmodified input
UNPACK = """
sSLOT = None if saved is None else saved[SLOT]
if type(sSLOT) is not Tensor or sSLOT._counter is not None or sSLOT._extra is not None:
    sSLOT = unpack_fast(self, SLOT)
"""

DROP = """
    if run_bits & 1 and saved is not None:
        if PACKED:
            self._release_()
        else:
            self._saved_ = None
"""


def run_written(self: Any, grads: Any, needed: Any) -> Any:
    """`OpNode._run_` in plain Python."""
    op = self._op_
    if op.run is None:
        op.run = run_first
    return op.run(self, grads, needed, 0)


def run_first(self: Any, grads: Any, needed: Any, run_bits: int) -> Any:
    """Run the first node of an op: code generation pays off only from the second node."""
    self._op_.run = run_second
    return run_general(self, grads, needed, run_bits)


def run_second(self: Any, grads: Any, needed: Any, run_bits: int) -> Any:
    """Run the second node and generate the op's function; tracing must not be visible to modes."""
    if tls.slow_path:
        return run_general(self, grads, needed, run_bits)
    run = self._op_.run = written_run(self._op_)
    return run(self, grads, needed, run_bits)


def written_run(op: Any, tensors_only: frozenset[Any] = frozenset()) -> Any:
    """The generated run function of the nodes of `op`; the rules with the numbers in `tensors_only` have no programs."""
    if op.vjp == NOT_IMPLEMENTED or op.has_lists:
        return run_general
    edges = range(len(op.inputs))
    one = len(op.schema.returns) == 1 and not op.returns_list
    space: dict[str, Any] = dict(COMMON, unpack_fast=unpack_fast, check_saved=check_saved, check_rule=check_rule,
                                 rule_arguments=rule_arguments, SavedTensor=SavedTensor)
    body, ordinary, defaults = "", False, default_attributes(op)
    for number, rule in enumerate(op.rules):
        space.update({f"rule{number}": rule, f"fn{number}": rule.fn})
        steps = array_steps(op, rule, number, space) if one else None
        lines = tensor_rule(rule, number)
        parts = None if number in tensors_only or is_free(rule) else key_parts(op, rule)
        if parts is not None:
            def failed(number: int = number) -> None:
                op.run = written_run(op, tensors_only | {number})
            space[f"programs{number}"] = Programs(rule, failed)
            lines = program_rule(op, rule, number, parts, lines)
        if steps is not None:
            lines = array_rule(rule, number, steps, defaults, lines)
        if len(rule.targets) > 1:
            lines += "".join([f"if nexts[{i}] is not None: r{i} = r[{k}]\n" for k, i in enumerate(rule.targets)])
        else:
            lines += f"r{rule.targets[0]} = {'r[0]' if rule.many else 'r'}\n"
        if len(edges) > 1:                # otherwise this is the only rule to run
            wanted = " or ".join([WANTED.replace("EDGE", str(i)) for i in rule.targets])
            lines = f"if {wanted}:\n" + indent(lines, "    ")
            if any([kind == SAVED for kind, _ in rule.sources]):
                lines += f"elif needed is not None:\n    check_rule(self, rule{number})\n"
        body += lines
        ordinary = ordinary or steps is not None
    text = HEAD
    if len(edges) > 1 or any([kind == NEEDED for rule in op.rules for kind, _ in rule.sources]):
        text += "    nexts = self._next_\n"
    if op.saved_names:
        text += "    saved = self._saved_\n"
    text += "    " + " = ".join([f"r{i}" for i in edges]) + " = None\n"
    text += f"    if {'grad is not None' if one else 'any([g is not None for g in grads])'}:\n"
    text += "        bare = run_bits > 1 and not " + (
        "grad._flags\n" if one else "any([g is not None and g._flags for g in grads])\n")
    if ordinary:
        body = ORDINARY.replace("SAVES_NOTHING", str(not op.saved_names)) + body
    text += indent(body or "pass\n", "        ")
    if op.saved_names:
        text += "    else:\n        check_saved(self)\n"
    if op.saved_names:
        text += DROP.replace("PACKED", " or ".join(
            [f"type(saved[{i}]) is SavedTensor" for i in range(len(op.saved_names))]))
    run_text(text + f"    return [{', '.join([f'r{i}' for i in edges])}]\n", op.name, space)
    return space["run"]


def run_general(self: Any, grads: Any, needed: Any, run_bits: int) -> Any:
    """Run the nodes of ops without generated code."""
    results = GENERAL_RUN(self, grads, needed)
    if run_bits & 1:
        self._release_()
    return results


def tensor_rule(rule: Any, number: int) -> str:
    """The lines that run a rule on tensors."""
    if not simple(rule):
        return f"r = fn{number}(*rule_arguments(self, rule{number}, grads, needed))\n"
    lines = "".join([UNPACK.replace("SLOT", str(slot)) for slot in saved_slots(rule)])
    return lines + f"r = fn{number}({given(rule, 'grad', 's')})\n"


def array_rule(rule: Any, number: int, steps: list[str], defaults: dict[int, Any], otherwise: str) -> str:
    """The lines that run a rule on arrays if all operands are ordinary, else `otherwise`."""
    slots = saved_slots(rule)
    lines = "\n".join(steps) + "\n"
    fits = [FITS.replace("SLOT", str(slot)) for slot in slots]
    if not hasattr(rule.fn, "bare"):
        fits += [f"self._attrs_[{index}] == {defaults[index]!r}" for kind, index in rule.sources if kind == ATTR]
    if fits:
        lines = "".join([ARRAY.replace("SLOT", str(slot)) for slot in slots]) + (
            f"if {' and '.join(fits)}:\n" + indent(lines, "    "))
    return (f"z = None\nif g is not None{' and saved is not None' if slots else ''}:\n" + indent(lines, "    ")
            + "if z is None:\n" + indent(otherwise, "    ") + "else:\n" + indent(new_text("r", "z"), "    "))


def program_rule(op: Any, rule: Any, number: int, parts: list[str], otherwise: str) -> str:
    """The lines that run a rule as a program (see programs.py), else `otherwise`."""
    slots = saved_slots(rule)
    operands = "".join([f", y{slot}" for slot in slots])
    lines = f"r = programs{number}[{', '.join(parts)},](self, grads, needed{operands})\n"
    if slots:
        lines = "".join([OPERAND.replace("SLOT", str(slot)) for slot in slots]) + (
            f"if {' and '.join([FOUND[may_be_none(op, slot)].replace('SLOT', str(slot)) for slot in slots])}:\n"
            + indent(lines, "    "))
    if any([kind == GRAD for kind, _ in rule.sources]):
        lines = "x = grad.array\n" + lines
    if any([kind == ATTR for kind, _ in rule.sources]):
        lines = "attrs = self._attrs_\n" + lines
    return (f"r = None\nif bare{' and saved is not None' if slots else ''}:\n" + indent(lines, "    ")
            + "if r is None:\n" + indent(otherwise, "    "))


FOUND = ("type(ySLOT) is ndarray", "(type(ySLOT) is ndarray or ySLOT is None)")


def may_be_none(op: Any, slot: int) -> bool:
    """Whether a saved input is optional."""
    return op.saved_args[slot] < 0 or bool(op.schema.params[op.saved_args[slot]].optional)


GEOMETRY = "None if {0} is None else ({0}.dtype, {0}.shape, {0}.strides)"


def key_parts(op: Any, rule: Any) -> list[str] | None:
    """The expressions of what a rule's calls may depend on; None if that has no such form."""
    parts = []
    for kind, index in rule.sources:
        if kind == GRAD:
            parts += ["x.dtype", "x.shape", "x.strides"]
        elif kind == GRADS:
            each = GEOMETRY.format("t.array").replace("t.array is", "t is")
            parts.append(f"tuple([{each} for t in grads])")
        elif kind == SAVED:
            parts += [GEOMETRY.format(f"y{index}")] if may_be_none(op, index) else [
                f"y{index}.{name}" for name in ("dtype", "shape", "strides")]
        elif kind == NEEDED:
            parts.append("tuple([n is not None and (needed is None or needed[i]) for i, n in enumerate(nexts)])")
        else:
            value, (what, argument, _) = f"attrs[{index}]", op.attr_kinds[index]
            p = op.schema.params[argument]
            if what == VALUE and p.type in ("Scalar", "float"):         # 1, 1.0 and True are equal, and so are 0 and -0
                parts.append(f"repr({value})")
            elif what == VALUE and p.type not in ("int", "SymInt", "bool", "str", "ScalarType", "Layout", "Device"):
                return None
            elif p.is_list or p.type == "Tensor":
                parts.append(f"tuple({value}) if type({value}) is list else {value}")
            else:
                parts.append(value)
    return parts


def is_free(rule: Any) -> bool:
    """Whether a rule calls nothing: it returns one of its arguments."""
    code = rule.fn.__code__
    return len(code.co_code) <= len(FREE) and not code.co_names and not code.co_freevars and code.co_argcount == 1


def simple(rule: Any) -> bool:
    """Whether a rule takes only the gradient, saved tensors and attributes."""
    return all([kind in (GRAD, SAVED, ATTR) for kind, _ in rule.sources])


def given(rule: Any, grad: str, saved: str) -> str:
    """The arguments of a rule."""
    names = {GRAD: grad, SAVED: saved + "{}", ATTR: "self._attrs_[{}]"}
    return ", ".join([names[kind].format(index) for kind, index in rule.sources])


# ---- tracing
def array_steps(op: OpDef, rule: Any, number: int, space: dict[str, Any]) -> list[str] | None:
    """The statements that compute a rule on the arrays g and y<slot> as z; None if that is not possible."""
    own = getattr(rule.fn, "bare", None)
    if own is not None and simple(rule):
        space[f"bare{number}"] = own
        return [f"z = bare{number}({given(rule, 'g', 'y')})"]
    defaults = default_attributes(op)
    if not op.elementwise or not simple(rule) or any([kind == ATTR and i not in defaults for kind, i in rule.sources]):
        return None
    traces = [trace(rule, defaults, shape, dtype) for shape, dtype in EXAMPLES]
    if traces[0] is None or any([other != traces[0] for other in traces[1:]]):
        return None
    steps = []
    for place, (step, rest, operands) in enumerate(traces[0]):
        kernel = kernel_of(step, rest)
        space[f"k{number}_{place}"] = kernel
        call = f"k{number}_{place}({', '.join(operands)}"
        if place < len(traces[0]) - 1:
            steps.append(f"t{place} = {call})")
        elif KEEPS_ARRAYS and isinstance(kernel, np.ufunc):
            steps.append(f"z = {call}) if g.ndim else {call}, out=...)")
        else:
            steps += [f"z = {call})", "if type(z) is not ndarray and z is not None: z = asarray(z)"]
    return steps


def kernel_of(op: OpDef, rest: Any) -> Any:
    """The array function of `op` for one precision, with other arguments `rest`."""
    if is_arithmetic(op):
        return ARITHMETIC[op.name]
    if op.fast is not None and rest == op.tail:
        return op.fast
    compute = op.compute
    return lambda *arrays: compute(np, *arrays, *rest)


ARITHMETIC = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide}


def is_arithmetic(op: OpDef) -> bool:
    """Whether an op is one of the four arithmetic operations with a number as second operand."""
    return op.overload == "Scalar" and op.name in ARITHMETIC


EXAMPLES = (((3,), np.float32), ((2, 3), np.float64), ((), np.float32), ((3,), np.float64))


def default_attributes(op: OpDef) -> dict[int, Any]:
    """The defaults of attributes that can be written as literals, by slot."""
    found = {}
    for slot, (kind, argument, _) in enumerate(op.attr_kinds):
        default = op.schema.params[argument].default
        if kind == VALUE and type(default) in (int, float, bool, type(None)) and default == default:
            found[slot] = default
    return found


def trace(rule: Any, defaults: dict[int, Any], shape: Any, dtype: Any) -> list[Any] | None:
    """The ops that a rule calls on tensors of some shape: for each the op, its other arguments, the names of its tensors."""
    values = [defaults[i] if kind == ATTR else new_tensor(np.full(shape, 0.5, dtype)) for kind, i in rule.sources]
    names = {id(value): "g" if kind == GRAD else f"y{i}"
             for value, (kind, i) in zip(values, rule.sources, strict=True) if kind != ATTR}
    watcher = Trace(names, np.dtype(dtype))
    was = set_grad_enabled(False)
    push_mode(watcher)
    try:
        made = rule.fn(*values)
    except Exception:
        return None
    finally:
        pop_mode()
        set_grad_enabled(was)
    done = watcher.names.get(id(made)) == f"t{len(watcher.steps) - 1}"
    return watcher.steps if done and watcher.possible and made.array.dtype == dtype else None


class Trace:
    """A dispatch mode that records ops and their tensors."""

    def __init__(self, names: dict[int, str], dtype: Any) -> None:
        self.names, self.dtype = names, dtype
        self.held: list[Any] = []     # keeps the tensors alive, so that ids stay unique
        self.steps: list[Any] = []
        self.possible = True

    def __torch_dispatch__(self, op: OpDef, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = op(*args, **(kwargs or {}))
        bound = op.schema.bind(args, kwargs or {})
        tensors = len(op.tensor_args)
        operands, rest = [self.names.get(id(a)) for a in bound[:tensors]], tuple(bound[tensors:])
        if is_arithmetic(op) and type(rest[0]) in (int, float) and isfinite(rest[0]) and rest[1:] in ((), (1,)):
            operands.append(f"constant({rest[0]!r}, d)")
        elif not (op.elementwise and op.simple and op.tensor_args == tuple(range(tensors))
                  and (not op.direct or (op.fast is not None and rest == op.tail))):
            self.possible = False
        if None in operands or made.array.dtype not in (self.dtype, np.bool_):
            self.possible = False
        self.names[id(made)] = f"t{len(self.steps)}"
        self.steps.append((op, rest, operands))
        self.held.append(made)
        return made


GENERAL_RUN = OpNode._run_
FREE = (lambda grad: grad).__code__.co_code


def install() -> None:
    """Install the generated run functions."""
    OpNode._run_ = run_written  # type: ignore[method-assign]
