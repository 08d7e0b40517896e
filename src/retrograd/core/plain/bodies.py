"""The body of a generated function after binding: guards, kernel, new tensor, node.

The lines are those of `dispatch.call_ordinary` specialised for the table's row and the types of the arguments. Where a guard
fails, or the kernel raises, the result is `ASK`: the layers run the call and raise its error.
"""
from __future__ import annotations

import re
from textwrap import indent
from types import FunctionType
from typing import Any

import numpy as np

from retrograd.core import dispatch
from retrograd.core.convert import SMALL
from retrograd.core.dispatch import call_ordinary, gradient_mask, gradients_of_write
from retrograd.core.dtypes import dtype as dtype_class
from retrograd.core.kernels import run_kernel, write_into
from retrograd.core.lists import Each
from retrograd.core.origin import remember
from retrograd.core.plain.operators import COMMON, constant, new_text, run_text
from retrograd.core.plain.straight import Kernels, straight
from retrograd.core.recipe import NOT_IMPLEMENTED, SHAPE, SIZES, VALUE
from retrograd.core.record import dropped, finish, node_class, record, save_results, save_written
from retrograd.core.saved import save_output
from retrograd.core.tensor import Size, Tensor, View, counter_of, new_tensor, wants_grad
from retrograd.core.views import DEFAULT, LONGEST, NO_GRAD_MODE, rebase, shorten

WIDEST = 4                     # tensor inputs whose node is written out: there are lines for each of their combinations
VARIABLE = re.compile(r"\b[ac]\d")           # in the text of an expression that is not the same in every call
ASK = object()                 # the schemas and the layers must run this call
# `dispatch.call` without generated functions
layered: Any = FunctionType(dispatch.call.__code__, dispatch.call.__globals__, "call")


def number_as(number: Any, dtype: Any) -> Any:
    """A Python number as an array of float32 or float64."""
    return constant(number, dtype) if -SMALL < number < SMALL else np.asarray(number).astype(dtype)


def is_regular(array: Any) -> bool:
    """Whether the strides are those of a new array, including dimensions of size 1 (`kernels.is_row_major`)."""
    step = array.itemsize
    for n, stride in zip(array.shape[::-1], array.strides[::-1], strict=True):
        if stride != step:
            return False
        step *= n
    return True


SPACE: dict[str, Any] = dict(
    COMMON, ASK=ASK, np=np, call_ordinary=call_ordinary, run_kernel=run_kernel, record=record,
    finish=finish, save_results=save_results, dropped=dropped, wants_grad=wants_grad, new_tensor=new_tensor,
    write_into=write_into, counter_of=counter_of, is_regular=is_regular, number_as=number_as, remember=remember,
    save_output=save_output, View=View, NO_GRAD_MODE=NO_GRAD_MODE, DEFAULT=DEFAULT, LONGEST=LONGEST, shorten=shorten,
    gradient_mask=gradient_mask, gradients_of_write=gradients_of_write, rebase=rebase, save_written=save_written,
)


def names_of(op: Any) -> dict[str, Any]:
    """The names that the text of an op's body uses beside those of SPACE."""
    return dict(op=op, compute=op.compute, check=op.check, cls=node_class(op) if op.differentiable else None)


def item_function(op: Any, names: list[str], types: dict[int, Any]) -> Any:
    """The function that runs `op` on the items of lists, in the order of its schema; None where a name is "None"."""
    body = Body(op, names, types, False)
    values = ", ".join(names)
    text = f"def item({', '.join([name for name in names if name != 'None'])}):\n" + body.text().replace(
        "return ASK", f"return layered(op, [{values}])")
    space = dict(SPACE, layered=layered, **body.space)
    run_text(text, op.name, space)
    return space["item"]


# `dispatch.make_view`
VIEW = """
    c = SOURCE._counter
    if c is None: c = counter_of(SOURCE)
    t._counter = c
    v = t._view = new(View)
    v.op, v.args, v.output, v.version = op, REST, -1, c.n
    v.creation = NO_GRAD_MODE if switches.any_mode and flags else DEFAULT
    parent = SOURCE._view
    if parent is None: v.parent, v.depth, v.base = None, 0, SOURCE
    else:
        if parent.depth >= LONGEST: parent = shorten(SOURCE)
        v.parent, v.depth, v.base = parent, parent.depth + 1, parent.base
        if v.creation == DEFAULT: v.creation = parent.creation
    if wanted:
"""


NODE = """
node = new(cls)
node._seq_ = numbers.n = numbers.n + 1
node._op_ = op
node._count_ = 1
node._nrs_ = node._saved_ = node._versions_ = node._attrs_ = node._leaves_ = node._hooks_ = node._metadata_ = None
node._mark_ = node._waits_ = 0
"""

# `record.edge_at`
EDGE = """
nPLACE = SOURCE._node
if nPLACE is None or SOURCE._view is not None:
    if SOURCE._view is None and node._leaves_ is None and type(SOURCE._sink) is AccumulateGrad:
        nPLACE = SOURCE._sink
        node._leaves_ = SOURCE
    else: nPLACE = edge_from(node, SOURCE)
if SOURCE._nr and nPLACE is not None:
    if node._nrs_ is None: node._nrs_ = [0] * COUNT
    node._nrs_[PLACE] = SOURCE._nr
"""

# `dispatch.call_inplace`
RECORD_WRITE = """
    node = None
    wanted = WANTS
    if (wanted or TARGET._view is not None) and not (switches.any_mode and tls.run_flags == 1):
        wanted = gradients_of_write(op, (VALUES,), gradient_mask(op, (VALUES,)) if wanted else 0)
        if wanted: node = record(op, (VALUES,), wanted, True)
"""


class Body:
    """The lines that run an op on arguments given by expressions, in schema order; `types` are the types of their values.
    Several results of a `public` call are a tuple, those of others a list where the schema says so."""

    # no mode is on; `wanted` are the inputs that need gradients, as bits
    ORDINARY = """
    if switches.any_mode and tls.run_flags > 1: return ASK
"""
    RECORDING = """
    if switches.any_mode:
        flags = tls.run_flags
        if flags:
            if flags > 1: return ASK
            wanted = 0
"""
    FLOAT = "({0}.dtype is F32 or {0}.dtype is F64)"
    IN_ORDER = "({0}.ndim < 2 or ({0}.flags.c_contiguous and {0}.size and (1 not in {0}.shape or is_regular({0}))))"

    def __init__(self, op: Any, expressions: list[str], types: dict[int, Any], public: bool = True,
                 example: Any = None) -> None:
        self.op, self.expressions, self.types, self.public = op, expressions, types, public
        self.example = example                # the arguments of a call like those to come
        self.values = ", ".join(expressions)
        given = [i for i in op.tensor_args if expressions[i] != "None"]
        self.tensors = [i for i in given if types[i] is not int and types[i] is not float]
        self.numbers = [i for i in given if i not in self.tensors]          # in the places of tensors
        self.alike = op.promote is not None or op.elementwise
        self.space = names_of(op)             # the names that the text uses beside those of SPACE

    def text(self) -> str:
        op = self.op
        if type(op.compute) is Each:
            text = self.each()
            if text:
                return text
        if op.composite:
            return self.ORDINARY + self.returning(f"compute({self.values})")
        if op.is_out:
            return self.ORDINARY + self.returning(f"call_ordinary(op, [{self.values}])")
        arrays = all([issubclass(self.types[i], (Tensor, list)) for i in self.tensors]) and (
            not self.numbers or bool(self.tensors) and not op.has_lists and not (self.alike and op.promote is None))
        if op.is_inplace and arrays and self.writes_alone():
            return self.inplace()
        if not op.simple or op.is_view and not op.one_view or self.names_device() or not arrays:
            return self.ORDINARY + self.returning(f"call_ordinary(op, [{self.values}])")
        return self.view() if op.one_view else self.several() if op.multiple else self.single()

    def returning(self, made: str) -> str:
        if self.public and any([result.is_list for result in self.op.schema.returns]):
            return f"    made = {made}\n    return tuple(made) if type(made) is list else made\n"
        return f"    return {made}\n"

    def names_device(self) -> bool:
        """Whether a device or a layout is given."""
        place = self.op.device_arg
        return place >= 0 and (self.expressions[place] != "None" or self.expressions[place - 1] != "None")

    def each(self) -> str:
        """A list op: the body of the single-tensor op, as a function of its own, for each row of the lists."""
        op, each = self.op, self.op.compute
        if each.op is None:
            each.prepare()
        if not each.op._ready:
            each.op.prepare()
        names, types, listed = [], {}, []
        for i, e in enumerate(self.expressions):
            p, kind = op.schema.params[i], self.types[i]
            if i < each.width and p.is_list and p.type in ("Tensor", "Scalar"):
                listed.append(i)
                kind = Tensor if p.type == "Tensor" else float
            elif i < each.width and kind is not int and kind is not float and not (each.spreads and issubclass(kind, Tensor)):
                return ""
            names.append("None" if e == "None" else f"v{i}")
            types[i] = kind
        given = list(self.expressions)
        tail = each.tail if len(names) <= each.width else ()
        if listed[:1] != [0] or any([value is not None and type(value) not in (int, float, bool) for value in tail]):
            return ""
        for value in tail:
            types[len(names)] = type(value)
            names.append("None" if value is None else f"v{len(names)}")
            given.append(repr(value))
        if len(names) != len(each.op.schema.params):
            return ""
        self.space["item"] = item_function(each.op, names, types)
        whole = f"compute({self.values}); return a0\n" if each.writes and self.public else f"return compute({self.values})\n"
        text = self.ORDINARY
        if each.bare:
            text += f"    if not (switches.any_mode and tls.run_flags == 1): {whole}"
        for i in listed[1:]:
            text += f"    if len({given[i]}) != len({given[0]}): {whole}"
        if each.spreads and issubclass(self.types[1], Tensor) and 1 not in listed:
            text += f"    if {given[1]}.array.ndim: {whole}"
        rows = f"{', '.join([names[i] for i in listed])} in " + (
            given[0] if len(listed) == 1 else f"zip({', '.join([given[i] for i in listed])}, strict=True)")
        values = [names[i] if i in listed else e for i, e in enumerate(given) if names[i] != "None"]
        call = f"item({', '.join(values)})"
        if each.writes:
            return text + f"    for {rows}: {call}\n    return {'a0' if self.public else 'None'}\n"
        made = f"[{call} for {rows}]"
        return text + f"    return {f'tuple({made})' if self.public else made}\n"

    # ---- the three kinds of generated bodies
    def view(self) -> str:
        """One view of one tensor."""
        rest = "".join([f"{e}, " for e in self.expressions[1:]])
        text = indent(new_text("t", "z"), "    ") + VIEW.replace("SOURCE", self.expressions[0]).replace("REST", f"({rest})")
        text += indent(self.node(), "        ")
        text += "        t._node, t._requires, node._shape_, node._dtype_ = node, True, z.shape, z.dtype\n"
        text += (f"    t._flags |= {self.op.flips}\n" if self.op.flips else "") + "    return t\n"
        return self.arrays() + self.gradients() + self.computing() + self.then(text)

    def several(self) -> str:
        """Several results."""
        op = self.op
        text = "    made = [None if a is None else new_tensor(a if type(a) is ndarray else asarray(a)) for a in z]\n"
        named = op.result_type is not None and not op.returns_list
        if named or self.public or not op.returns_list:
            text += f"    made = {'tuple.__new__(op.result_type, made)' if named else 'tuple(made)'}\n"
        if op.differentiable:
            text += "    if wanted:\n" + indent(self.node(), "        ") + "        finish(op, node, wanted, made)\n"
        return self.arrays() + self.gradients() + self.computing() + self.then(text + "    return made\n")

    def single(self) -> str:
        """One result, which is new."""
        text = "    if type(z) is not ndarray: z = asarray(z)\n" + indent(new_text("t", "z"), "    ")
        return self.arrays() + self.gradients() + self.computing() + self.then(text + self.recorded())

    def recorded(self) -> str:
        """The history of one result."""
        op, text = self.op, ""
        if not op.differentiable:
            return "    return t\n"
        text += "    if wanted and (z.dtype.kind in 'fcVW' or not dropped(op, z)):\n"
        if op.has_lists or op.real_only:
            text += f"        node = record(op, ({self.values},), wanted, False)\n"
            return text + "        finish(op, node, wanted, (t,))\n    return t\n"
        text += indent(self.node(), "        ")
        text += "        t._node, t._requires, node._shape_, node._dtype_ = node, True, z.shape, z.dtype\n"
        return text + (indent(self.result_kept(), "        ") if op.saves_result else "") + "    return t\n"

    def node(self) -> str:
        """The node with its edges and saved inputs: the lines of `record.record` for few inputs that are tensors."""
        op = self.op
        places = self.places()
        if not places:
            return f"node = record(op, ({self.values},), wanted, False)\n"
        text = NODE
        for place in places:
            edge = EDGE.replace("SOURCE", self.expressions[op.inputs[place]]).replace(
                "PLACE", str(place)).replace("COUNT", str(len(op.inputs)))
            if len(places) > 1:
                edge = f"n{place} = None\nif wanted & {1 << place}:\n" + indent(edge, "    ")
            text += edge
        text += f"node._next_ = ({''.join([f'n{i}, ' if i in places else 'None, ' for i in range(len(op.inputs))])})\n"
        text += self.by_mask(self.kept)
        return text + "if switches.any_mode and tls.origins: remember(node)\n"

    def places(self) -> list[int]:
        """The places of the inputs that are tensors, where the node is written out; else none."""
        op = self.op
        places = [place for place, i in enumerate(op.inputs) if i in self.tensors]
        return [] if op.has_lists or op.vjp is NOT_IMPLEMENTED or len(places) > WIDEST else places

    def by_mask(self, lines_for: Any) -> str:
        """The lines for the plan of each combination of inputs that may need gradients."""
        masks, text = [0], ""
        for place in self.places():
            masks += [mask | 1 << place for mask in masks]
        alike: dict[tuple[str, ...], list[int]] = {}
        for mask in masks[1:]:
            alike.setdefault(tuple(lines_for(self.op.plan(mask))), []).append(mask)
        for lines, found in alike.items():
            if len(alike) > 1 and lines:
                text += f"if wanted == {found[0]}:\n" if len(found) == 1 else f"if wanted in {tuple(found)}:\n"
            text += "".join([f"{'    ' if len(alike) > 1 else ''}{line}\n" for line in lines])
        return text

    def result_kept(self) -> str:
        """`record.save_results` for one result."""
        if not self.places() or self.op.returns_list:
            return "save_results(op, node, wanted, (t,))\n"
        return self.by_mask(lambda plan: [f"save_output(node, {slot}, t, {nr})" for slot, nr in plan.outputs])

    def kept(self, plan: Any) -> list[str]:
        """The lines that save what a plan lists."""
        op, lines = self.op, []
        if plan.inputs or plan.outputs:
            values = ["None"] * len(op.saved_names)
            for slot, i in plan.inputs:
                values[slot] = self.expressions[i]
            lines.append(f"node._saved_ = [{', '.join(values)}]")
            lines += [f"if {self.expressions[i]}._counter is not None: note_version(node, {slot}, {self.expressions[i]})"
                      for slot, i in plan.inputs if i in self.tensors]
        if plan.attrs:
            values = ["None"] * len(op.attr_names)
            for slot, kind, i, extra in plan.attrs:
                e = self.expressions[i]
                values[slot] = e if kind == VALUE else f"x{i}.shape" if kind in (SIZES, SHAPE) and i in self.tensors else (
                    f"attribute_value({kind}, {e}, {extra})")
            keep = f"node._attrs_ = ({', '.join(values)},)"
            if plan.only_shown:              # see `has_defaults`
                given = [i for _, _, i, _ in plan.attrs if self.expressions[i].isidentifier() and self.expressions[i] != "None"]
                spelled = [i for _, _, i, _ in plan.attrs if i not in given and self.expressions[i] != repr(op.defaults[i])]
                tests = [f"{self.expressions[i]} is not op.defaults[{i}]" for i in given] + ["True"] * bool(spelled)
                keep = f"if {' or '.join(tests)}: {keep}" if tests else ""
            lines += [keep] if keep else []
        return lines

    def writes_alone(self) -> bool:
        """Whether an in-place op writes to its first argument only, an array that its kernel takes as it is."""
        op = self.op
        return (0 in self.tensors and not op.has_lists and op.kernel is not None and op.device_arg < 0 and not op.real_only
                and "apart_first" not in op.traits and "inplace_view" not in op.traits and not op.is_view)

    def inplace(self) -> str:
        """A write to memory that no other operand shares; everything else goes to the layers."""
        op = self.op
        through = f"return call_ordinary(op, [{self.values}])"
        target = self.expressions[0]
        text = self.arrays() + self.ORDINARY
        wants = [f"{a}._requires or ({a}._view is not None and {a}._view.base._requires)"
                 for a in [self.expressions[i] for i in self.tensors]]
        tests = ["x0.flags.c_contiguous", "x0.flags.writeable"]
        guarded = "apart" in op.traits or "guarded" in op.traits
        for i in self.tensors[1:]:
            apart = f"x{i}.base is None and x0.base is None and x{i} is not x0"
            tests.append(f"({apart})" if guarded else f"(x{i} is x0 or {apart})")
        if self.alike or op.widen or op.floats or op.scalar_args:
            tests += self.fits()
            if op.promote is not None:
                tests += [f"x{i}.shape == x0.shape" for i in self.tensors[1:]]
        else:
            tests += [f"x{i}.dtype.kind != 'W'" for i in self.tensors]
        if any([self.types[i] is complex for i in op.scalar_args]):
            return text + f"    {through}\n"
        operands = self.operands()
        lines = [] if op.check is None or op.checks_dtypes and self.alike else [f"check({self.values})"]
        if op.direct and op.pure is not None and op.pure.ufunc is op.compute and self.alike:
            lines += [f"compute({', '.join(operands)}, out=x0)", "z = x0"]
        else:
            lines += [f"z = compute({', '.join(operands)})", "if type(z) is not ndarray: z = asarray(z)"]
        text += f"    if not ({' and '.join(tests)}): {through}\n"
        text += RECORD_WRITE.replace("TARGET", target).replace("VALUES", self.values).replace("WANTS", " or ".join(wants))
        text += self.trying(*lines)
        writing = "    if z is not x0:\n"
        writing += "        if z.dtype is x0.dtype and z.shape == x0.shape: x0[...] = z\n"
        writing += f"        else: write_into(op, {target}, z)\n"
        writing += f"    c = {target}._counter\n    if c is None: c = counter_of({target})\n    c.n += 1\n"
        writing += "    if node is not None:\n        node._shape_, node._dtype_ = x0.shape, x0.dtype\n"
        writing += f"        rebase({target}, node)\n"
        writing += f"        save_written(op, node, wanted, {target})\n" if op.saves_result else ""
        return text + self.then(writing + f"    return {target}\n")

    # ---- their parts
    def arrays(self) -> str:
        """x<i> is the array of argument i."""
        op, text = self.op, ""
        for i in self.tensors:
            e = self.expressions[i]
            text += f"    x{i} = " + (f"[t.array for t in {e}]\n" if op.schema.params[i].is_list else f"{e}.array\n")
            if op.real_only:
                text += "    return ASK\n" if op.has_lists else f"    if x{i}.dtype.kind in 'cW': return ASK\n"
        return text

    def gradients(self) -> str:
        """`wanted`, where the op records."""
        if not self.op.differentiable:
            return self.ORDINARY
        text = "    wanted = 0\n"
        for bit, i in enumerate(self.op.inputs):
            a = self.expressions[i]
            if a == "None" or i in self.numbers:
                continue
            requires = f"any([wants_grad(t) for t in {a}])" if self.op.schema.params[i].is_list else (
                f"{a}._requires or ({a}._view is not None and {a}._view.base._requires)")
            text += f"    if {requires}: wanted |= {1 << bit}\n"
        return text + self.RECORDING

    def computing(self) -> str:
        """z is the kernel's result: called directly where no operand needs promotion, else through the layers' function."""
        op = self.op
        arrays = [f"x{i}" if i in self.tensors else e for i, e in enumerate(self.expressions)]
        through = f"run_kernel(op, ({self.values},), [{', '.join(arrays)}])"
        if op.native is not None or any([self.types[i] is complex for i in op.scalar_args]):
            return self.trying(f"z = {through}")
        direct = f"compute({', '.join(self.operands())})"
        checked = f"check({self.values}); " if op.check is not None else ""
        alike = self.alike or op.widen or op.floats or op.scalar_args
        if alike and op.checks_dtypes:
            checked = ""
        key = self.key()
        if key is not None:
            direct = f"kernels.learn({', '.join(['key', *self.operands()[1:]])})"
            found = f"run({', '.join([f'x{i}' for i in self.tensors])})"
        if not alike:
            if op.is_view or op.has_lists or not self.tensors or "as_is" in op.traits or "view_copy" in op.traits:
                lines = [f"{checked}z = {direct}"]
                return self.trying(*lines) if key is None else self.trying(
                    f"key = {key}", "run = kernels.get(key)", f"{checked}z = {direct} if run is None else {found}")
            tests = [f"x{i}.dtype.kind != 'W'" for i in self.tensors]            # no complex32
        elif self.tensors == [0] and op.schema.params[0].is_list and op.promote == "common" and not op.elementwise:
            return self.trying("d = x0[0].dtype", "if (d is F32 or d is F64) and all([x.dtype is d for x in x0]):",
                               f"    {checked}z = {direct}", "else:", f"    z = {through}")
        elif op.has_lists or not self.tensors:
            return self.trying(f"z = {through}")
        else:
            tests = self.fits()
        lines = [f"if {' and '.join(tests)}:", f"    {checked}z = {direct}", "else:", f"    z = {through}"]
        if key is not None:
            lines[:1] = [f"key = {key}", "run = kernels.get(key)", "if run is not None:", f"    {checked}z = {found}",
                         f"elif {' and '.join(tests)}:"]
        return self.trying(*lines)

    def key(self) -> str | None:
        """The text of what the lines of the kernel depend on, if these alone take less time; see NOTE [Straight kernels]."""
        op = self.op
        if op.direct or op.random or self.example is None or op.has_lists or self.numbers or not self.tensors:
            return None
        parts = [f"x{i}.{name}" for i in self.tensors for name in ("dtype", "shape", "strides")]
        for i, e in enumerate(self.expressions):
            kind = self.types[i]
            if i in self.tensors or kind is type(None) or not VARIABLE.search(e):
                continue
            if kind is float:
                parts.append(f"{e} or repr({e})")              # 0 and -0 are equal
            elif kind in (list, tuple) and op.schema.params[i].type != "int":
                parts.append(f"repr({e})")
            elif kind is list:
                parts.append(f"tuple({e})")
            elif kind in (int, bool, str, tuple, Size, dtype_class):
                parts.append(e)
            else:
                return None
        values = [v.array if isinstance(v, Tensor) else v for v in self.example]
        for i in op.dtype_args:
            values[i] = None if values[i] is None else values[i].numpy
        # a question takes as much time as a part of the key; the kernel of a view is Python alone
        if straight(op.compute, values, 0 if op.is_view else 3 * len(self.tensors) + 1) is None:
            return None
        self.space["kernels"] = Kernels(op.compute)
        return f"({', '.join(parts)},)"

    def operands(self) -> list[str]:
        """The arguments of the kernel where no operand needs promotion."""
        op = self.op
        arrays = [f"x{i}" if i in self.tensors else e for i, e in enumerate(self.expressions)]
        for i in self.numbers if self.alike else ():
            arrays[i] = f"number_as({arrays[i]}, x{self.tensors[0]}.dtype)"
        for i in op.dtype_args:
            arrays[i] = "None" if arrays[i] == "None" else f"{arrays[i]}.numpy"
        return [arrays[i] for i in op.tensor_args] if op.direct else ["np", *arrays]

    def trying(self, *lines: str) -> str:
        return "    try:\n" + "".join([f"        {line}\n" for line in lines]) + "    except Exception: pass\n"

    def then(self, text: str) -> str:
        """The lines after a kernel; an error is raised by the layers, which must not run while it is handled."""
        return "    else:\n" + indent(text, "    ") + "    return ASK\n"

    def fits(self) -> list[str]:
        """The tests that no operand needs promotion or determines the memory order of the result."""
        first = f"x{self.tensors[0]}"
        tests = [self.FLOAT.format(first)]
        for i in self.tensors[1:]:
            tests.append(f"x{i}.dtype is {first}.dtype" if self.alike else self.FLOAT.format(f"x{i}"))
        return tests + ([self.IN_ORDER.format(f"x{i}") for i in self.tensors] if self.op.elementwise else [])
