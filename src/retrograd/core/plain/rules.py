"""Running nodes in the plain core: one generated function per op, on bare arrays where possible.

NOTE [Rules on arrays]
The function of an op's nodes finds the arrays of the incoming gradient and of the saved tensors, and runs the program of the
op's rules for them (programs.py): the one for all sizes, if there is one and the operands are ordinary (float32 or float64,
in row-major order), else the one of their key. Without a program, and for everything else (modified saved tensors,
`create_graph`, active modes), the rules run on tensors.
"""
from __future__ import annotations

from textwrap import indent
from typing import Any

from retrograd.core.convert import SMALL
from retrograd.core.opdef import OpDef
from retrograd.core.plain.operators import COMMON, run_text
from retrograd.core.plain.programs import GENERAL_RUN, General, Programs, saved_slots
from retrograd.core.recipe import ATTR, GRAD, GRADS, NOT_IMPLEMENTED, SAVED, VALUE
from retrograd.core.record import OpNode
from retrograd.core.saved import SavedTensor
from retrograd.core.state import tls

# `run_bits` are bits from the engine: 1, release the saved tensors; 2, no recording and no mode

# the array of a saved tensor that was not modified
OPERAND = """
ySLOT = saved[SLOT]
if type(ySLOT) is not ndarray and isinstance(ySLOT, Tensor):
    c = ySLOT._counter
    if not ySLOT._flags and ySLOT._extra is None and (
            c is None or c.n == (0 if self._versions_ is None else self._versions_[SLOT])):
        ySLOT = ySLOT.array
"""

# the program for all sizes, if all operands are ordinary
GENERAL = """
d = x.dtype
if d is F32 or d is F64:
    flat = x.ndim < 2
NUMBERS    if (flat or x.flags.c_contiguousEXPANDED)FITS:
        results = general[d, EDGES]
        if results is not None: results = results(self, grads, needed, OPERANDS)
"""

# a saved number
NUMBER = "    if type(ySLOT) is float or type(ySLOT) is int and -SMALL < ySLOT < SMALL: ySLOT = constant(ySLOT, d)\n"

# one number expanded leaves the order to what it meets
EXPANDED = " or not any(x.strides) and 1 not in x.shape"

RELEASE = """
if run_bits & 1:
    if PACKED: self._release_()
    else: self._saved_ = None
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


def written_run(op: OpDef) -> Any:
    """The generated run function of the nodes of `op`."""
    parts = None if op.vjp == NOT_IMPLEMENTED else key_parts(op)
    if parts is None:
        return run_general
    kinds = {source for rule in op.rules for source in rule.sources}
    slots = saved_slots(op)
    several = uses_all_gradients(op)

    def failed() -> None:
        op.run = run_general
    space: dict[str, Any] = dict(COMMON, programs=Programs(op, failed), run_general=run_general, SavedTensor=SavedTensor,
                                 SMALL=SMALL)
    text = "results = None\n"
    if any([kind == GRAD for kind, _ in kinds]) and not several:
        text += "x = grad.array\n"
    if any([kind == ATTR for kind, _ in kinds]) or op.has_lists:
        text += "attrs = self._attrs_\nif attrs is None: attrs = DEFAULTS\n"
        space["DEFAULTS"] = tuple([op.defaults[i] if what == VALUE else None for what, i, _ in op.attr_kinds])
    text += "".join([OPERAND.replace("SLOT", str(slot)) for slot in slots])
    edges = [f"nexts[{i}] is not None and (needed is None or needed[{i}])" for i in range(len(op.inputs))]
    operands = "".join([f"y{slot}, " for slot in slots])
    find = f"results = programs[{', '.join(parts)},](self, grads, needed, {operands})\n"
    attributes = general_attributes(op)
    if attributes is not None:
        space["general"] = General(op, attributes)
        fits = "".join([f" and attrs[{i}] == {attributes[i]!r}" for kind, i in sorted(kinds) if kind == ATTR])
        for slot in slots:
            empty = f"y{slot} is None or " if len(edges) > 1 else ""
            array = f"y{slot}.dtype is d and (flat or y{slot}.flags.c_contiguous)"
            fits += f" and ({empty}type(y{slot}) is ndarray and {array})"
        numbers = "".join([NUMBER.replace("SLOT", str(slot)) for slot in slots])
        text += GENERAL.replace("NUMBERS", numbers).replace("EXPANDED", EXPANDED if op.saved_names else "").replace(
            "FITS", fits).replace("EDGES", ", ".join(edges) if len(edges) > 1 else "True").replace("OPERANDS", operands)
        find = "if results is None:\n" + indent(find, "    ")
    found = [f"({f'y{slot} is None or ' if may_be_none(op, slot) else ''}type(y{slot}) is ndarray)" for slot in slots]
    text += f"if {' and '.join(found)}:\n" + indent(find, "    ") if found else find
    text += "if results is not None:\n"
    if op.saved_names:
        packed = " or ".join([f"type(saved[{i}]) is SavedTensor" for i in range(len(op.saved_names))])
        text += indent(RELEASE.replace("PACKED", packed), "    ")
    text += "    return results\n"
    test = "grad is not None and not grad._flags"
    if several:
        test = "any([g is not None for g in grads]) and not any([g is not None and g._flags for g in grads])"
    if len(op.inputs) == 1 and not op.has_lists:         # whose programs are for a gradient that is needed
        test = f"nexts[0] is not None and {test}"
    text = f"if {test}{' and saved is not None' if op.saved_names else ''}:\n" + indent(text, "    ")
    if op.saved_names:
        text = "saved = self._saved_\n" + text
    text = f"grad = grads[0]\nnexts = self._next_\n{text}"
    text = f"def run(self, grads, needed, run_bits):\n    if run_bits > 1:\n{indent(text, '        ')}"
    run_text(text + "    return run_general(self, grads, needed, run_bits)\n", op.name, space)
    return space["run"]


def run_general(self: Any, grads: Any, needed: Any, run_bits: int) -> Any:
    """Run the rules of a node on tensors."""
    results = GENERAL_RUN(self, grads, needed)
    if run_bits & 1:
        self._release_()
    return results


def uses_all_gradients(op: OpDef) -> bool:
    return any([kind == GRADS for rule in op.rules for kind, _ in rule.sources])


def may_be_none(op: Any, slot: int) -> bool:
    """Whether a saved input is optional, or not saved if the rule that takes it is not needed."""
    return len(op.inputs) > 1 or op.saved_args[slot] < 0 or bool(op.schema.params[op.saved_args[slot]].optional)


GEOMETRY = "None if {0} is None else ({0}.dtype, {0}.shape, {0}.strides)"


def key_parts(op: OpDef) -> list[str] | None:
    """The expressions of what the calls of an op's rules may depend on; None if that has no such form."""
    parts: list[str] = []
    if op.has_lists:
        parts = ["tuple([n is not None for n in nexts])", "None if needed is None else tuple(needed)",
                 f"tuple(attrs[{len(op.attr_names)}][1])"]
    elif len(op.inputs) > 1:
        parts = [f"nexts[{i}] is not None and (needed is None or needed[{i}])" for i in range(len(op.inputs))]
    several = uses_all_gradients(op)
    for kind, index in sorted({source for rule in op.rules for source in rule.sources}):
        if kind == GRAD and several:
            continue
        if kind == GRAD:
            parts += ["x.dtype", "x.shape", "x.strides"]
        elif kind == GRADS:
            each = GEOMETRY.format("t.array").replace("t.array is", "t is")
            parts.append(f"tuple([{each} for t in grads])")
        elif kind == SAVED:
            argument = op.saved_args[index]
            if op.returns_list if argument < 0 else op.schema.params[argument].is_list:
                return None
            parts += [GEOMETRY.format(f"y{index}")] if may_be_none(op, index) else [
                f"y{index}.{name}" for name in ("dtype", "shape", "strides")]
        elif kind == ATTR:
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
    return parts or ["0"]


def general_attributes(op: OpDef) -> dict[int, Any] | None:
    """The attributes, by slot, for which an elementwise op may have programs for all sizes: their defaults. None if there are
    no such programs, also because a rule takes an attribute whose default is no literal."""
    found = {}
    for slot, (kind, argument, _) in enumerate(op.attr_kinds):
        default = op.schema.params[argument].default
        if kind == VALUE and type(default) in (int, float, bool, type(None)) and default == default:
            found[slot] = default
    sources = [source for rule in op.rules for source in rule.sources]
    possible = op.elementwise and not (uses_all_gradients(op) or op.has_lists or op.multiple) and not any(
        [rule.missing for rule in op.rules]) and all(
        [kind in (GRAD, SAVED) or kind == ATTR and i in found for kind, i in sources])
    optional = [op.saved_args[i] >= 0 and op.schema.params[op.saved_args[i]].optional for i in saved_slots(op)]
    return found if possible and not any(optional) else None


def install() -> None:
    """Install the generated run functions."""
    OpNode._run_ = run_written  # type: ignore[method-assign]
