"""Derivative rules as straight-line programs over arrays, traced from a backward pass.

NOTE [Programs]
A derivative formula is written with tensors, so that it can be differentiated and seen by modes. In most backward passes
neither is needed. What a formula calls depends on the dtypes, sizes and strides of its operands and on the other arguments
of the op, and not on values. So the second time a rule meets such a combination (its key), it runs while a dispatch mode
records the kernel calls; from then on, the calls alone are run, as one function. What the layers derive from dtypes and
strides is derived while tracing: promotion becomes casts, broadcasting is checked, views lose their history. A gradient that
is a view of an incoming one stays that.
A rule cannot be traced if it draws random numbers, if its result has a shape that depends on values, or if it reads values
(every such read is an op that returns no tensor) or uses tensors that no op made: then it runs on tensors.
"""
from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

import numpy as np

from retrograd.core.kernels import (
    check_shapes,
    in_order,
    orders,
    plain_uniformity,
    promote_operands,
    run_kernel,
    widen,
    write_into,
)
from retrograd.core.modes import push_mode, remove_mode
from retrograd.core.opdef import OpDef
from retrograd.core.plain.operators import COMMON, new_text
from retrograd.core.plain.straight import Recorded, Recorder, Unrecordable, straight
from retrograd.core.recipe import ATTR, GRAD, GRADS, SAVED
from retrograd.core.record import rule_arguments
from retrograd.core.tensor import Counter, Tensor, View, counter_of, new_tensor
from retrograd.core.views import NO_GRAD_MODE, Window

ndarray = np.ndarray
FUTILE = 3                    # impossible traces, if there were no others, after which a rule has no programs
MOST = 128                    # programs and keys remembered for a rule
CODES: dict[str, CodeType] = {}           # programs differ in constants more often than in text


class Untraceable(Exception):
    """A rule that cannot be a program."""


class Programs(dict[Any, Any]):
    """The programs of a rule by key. A program takes (node, gradients, needed edges, saved arrays...) and returns the rule's
    result, or None where the rule must run on tensors."""

    def __init__(self, rule: Any, failed: Any) -> None:
        super().__init__()
        self.rule, self.failed = rule, failed         # `failed()` is called when the first `FUTILE` traces were impossible
        self.slots = saved_slots(rule)
        self.seen: set[Any] = set()
        self.refused = 0

    def __missing__(self, key: Any) -> Any:
        if key in self.seen:
            return lambda *values: self.learn(key, *values)
        if len(self.seen) >= MOST:
            self.seen.clear()
        self.seen.add(key)
        return refuse

    def learn(self, key: Any, node: Any, grads: Any, needed: Any, *saved: Any) -> Any:
        """Run the rule on tensors once more, and keep what it calls."""
        made = self.rule.fn(*rule_arguments(node, self.rule, grads, needed))
        results = made if self.rule.many else (made,)
        try:
            program = traced(self.rule, node, grads, needed, dict(zip(self.slots, saved, strict=True)), results)
            again = program(node, grads, needed, *saved)
            alike = all([same_tensor(*pair) for pair in zip(again if self.rule.many else (again,), results, strict=True)])
        except Exception:
            alike = False
        if not alike:
            program = refuse
            self.refused += 1
            if self.refused == len(self) + 1 == FUTILE:
                self.failed()
        if len(self) >= MOST:
            self.clear()
        self[key] = program
        return made


def refuse(*values: Any) -> Any:
    return None


def saved_slots(rule: Any) -> list[int]:
    """The saved tensors that a rule takes, in order."""
    return sorted({index for kind, index in rule.sources if kind == SAVED})


def traced(rule: Any, node: Any, grads: Any, needed: Any, saved: dict[int, Any], results: Any) -> Any:
    """The program of a rule for these operands; `results` are what it gives on tensors."""
    trace = Trace()
    given = [None if g is None else trace.named(g.array, f"g{i}") for i, g in enumerate(grads)]
    kept = {slot: None if array is None else trace.named(array, f"y{slot}") for slot, array in saved.items()}
    nexts = node._next_
    values = [given[0] if kind == GRAD else given if kind == GRADS else kept[index] if kind == SAVED else
              node._attrs_[index] if kind == ATTR else
              [n is not None and (needed is None or needed[i]) for i, n in enumerate(nexts)]
              for kind, index in rule.sources]
    push_mode(trace)
    try:
        made = rule.fn(*values)
    finally:
        remove_mode(trace)
    if not rule.many and made is None:
        raise Untraceable
    return trace.written([trace.name_of(t) for t in (made if rule.many else (made,))], results, grads, sorted(saved), rule.many)


def same_tensor(a: Any, b: Any) -> bool:
    """Whether two results are equal in all that a program determines."""
    if a is None or b is None:
        return a is b
    x, y = a.array, b.array
    return (type(b) is Tensor and not b._flags and x.dtype == y.dtype and x.shape == y.shape and x.strides == y.strides
            and (a._view is None) == (b._view is None) and bool(((x == y) | ((x != x) & (y != y))).all()))


class Trace:
    """A dispatch mode that runs kernels and records them as lines of text."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}           # tensors by id
        self.roots: dict[str, str] = {}           # the value whose memory a value shares
        self.arrays: dict[str, Any] = {}
        self.held: list[Any] = []                 # keeps the tensors alive, so that ids stay unique
        self.steps: list[tuple[list[str], str, list[str], bool]] = []     # results, text, operands, whether it writes
        self.constants: dict[str, Any] = {}

    def named(self, array: Any, name: str, root: str = "") -> Any:
        """A new tensor called `name`."""
        t = new_tensor(array)
        self.names[id(t)] = name
        self.arrays[name] = array
        self.roots[name] = root or name
        self.held.append(t)
        return t

    def name_of(self, t: Any) -> str:
        """The name of a tensor, which must be known."""
        if t is None:
            return "None"
        name = self.names.get(id(t))
        if name is None or t._flags:
            raise Untraceable
        return name

    def constant(self, value: Any) -> str:
        """The text of a value that is the same in every run."""
        if value is None or value is True or value is False:
            return repr(value)
        name = f"c{len(self.constants)}"
        self.constants[name] = tuple(value) if type(value) is list else value
        return name if type(value) is not list else f"[*{name}]"

    def spelled(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self.name_of(value)
        if type(value) in (list, tuple) and any([isinstance(item, Tensor) for item in value]):
            return f"[{', '.join([self.name_of(item) for item in value])}]"
        return self.constant(value)

    def _reads_values_(self) -> None:
        """A rule looks at values (see `everything` in ops/shared/families.py), so that what it calls depends on them."""
        raise Untraceable

    # ---- one op
    def _process(self, op: OpDef, args: Any) -> Any:
        if not op._ready:
            op.prepare()
        if (op.random or op.is_out or op.composite or op.kernel is None or op.flips or op.meta == "values"
                or "reads_values" in op.traits or "inplace_view" in op.traits or elsewhere(op, args)):
            raise Untraceable
        given = [args[i] for i in op.tensor_args]
        operands = [self.name_of(t) for value in given for t in (value if type(value) in (list, tuple) else (value,))
                    if isinstance(t, Tensor)]
        place = len(self.steps)
        if op.is_inplace:
            return self.write(op, args, operands)
        z, text = self.computed(op, args)
        results = [f"t{place}"] if not op.multiple else [f"t{place}_{i}" for i in range(len(z))]
        lines = f"{', '.join(results)}{',' if op.multiple else ''} = {text}"
        made: list[Any] = []
        for name, array in zip(results, z if op.multiple else (z,), strict=True):
            if array is None:
                made.append(None)
                continue
            if type(array) is not ndarray:
                lines += f"\n    {name} = asarray({name})"
                array = np.asarray(array)
            made.append(self.named(array, name, self.root_of(array, operands)))
        self.steps.append((results, lines, operands, False))
        if not op.multiple:
            return made[0]
        return made if op.returns_list else op.result_type(*made) if op.result_type is not None else tuple(made)

    def root_of(self, array: Any, operands: list[str]) -> str:
        """The operand whose memory a result shares; "" if it is new."""
        for name in operands:
            if np.may_share_memory(array, self.arrays[name]):
                return self.roots[name]
        return ""

    def write(self, op: OpDef, args: Any, operands: list[str]) -> Any:
        """An in-place op, on memory that the rule itself has made."""
        if self.roots[operands[0]][0] != "t":
            raise Untraceable
        text = f"wrote({self.constant(op)}, {', '.join([self.spelled(a) for a in args])})"
        wrote(op, *arrays_of(args))
        self.steps.append(([], text, operands, True))
        return args[0]

    def computed(self, op: OpDef, args: Any) -> tuple[Any, str]:
        """The result of a kernel on the arrays of `args`, and the text of its call."""
        values, texts = arrays_of(args), [self.spelled(a) for a in args]
        uniform = plain_uniformity(op, values)
        if op.check is not None and not (op.checks_dtypes and uniform == 2):
            try:
                op.check(*[described(a) for a in args])
            except (Unrecordable, AttributeError, TypeError):         # it asks for values
                return self.through(op, values, texts)
        if any([type(v) is ndarray and v.dtype.kind == "W" for v in values]):
            return self.through(op, values, texts)
        if not uniform:
            if op.promote is not None:
                check_shapes(op, args)
                given = list(values)
                promote_operands(op, args, values)
                for i in op.tensor_args:
                    if not self.cast(i, given[i], values[i], texts):
                        return self.through(op, arrays_of(args), texts)
            before = list(values)
            if op.widen and widen(op, values) is not None:
                return self.through(op, arrays_of(args), texts)
            values = before
        order = orders(op, args, values) if op.elementwise and not uniform else None
        for i in op.dtype_args:
            if values[i] is not None:
                values[i] = values[i].numpy
                texts[i] = self.constant(values[i])
        if op.direct:
            z = op.compute(*[values[i] for i in op.tensor_args])
            text = f"{self.constant(op.compute)}({', '.join([texts[i] for i in op.tensor_args])})"
        else:
            rest = tuple(values[len(op.tensor_args):])
            z = None
            if isinstance(op.fast, np.ufunc) and op.tensor_args == tuple(range(len(op.tensor_args))) and same(rest, op.tail):
                z = op.fast(*values[:len(op.tensor_args)])
                text = f"{self.constant(op.fast)}({', '.join(texts[:len(op.tensor_args)])})"
            else:
                z = op.compute(np, *values)
                kernel = straight(op.compute, values)
                arrays = [t for t, v in zip(texts, values, strict=True) if type(v) is ndarray]
                text = (f"{self.constant(op.compute)}(np, {', '.join(texts)})" if kernel is None else
                        f"{self.constant(kernel)}({', '.join(arrays)})")
        if order is not None and type(z) is ndarray and z.ndim > 1 and in_order(op, order, z) is not z:
            return self.through(op, arrays_of(args), texts)
        return z, text

    def cast(self, i: int, given: Any, value: Any, texts: list[str]) -> bool:
        """Spell the promotion of operand `i`; False if that is not a cast of an array or a number."""
        if value is given:
            return True
        if type(value) is not ndarray:
            return False
        if type(given) is not ndarray:
            texts[i] = self.constant(value)
            return True
        made = given.astype(value.dtype)
        texts[i] = f"{texts[i]}.astype({self.constant(value.dtype)})"
        return made.shape == value.shape and made.strides == value.strides

    def through(self, op: OpDef, values: list[Any], texts: list[str]) -> tuple[Any, str]:
        """A kernel call with all that the layers do for it."""
        text = f"{', '.join(texts)},"
        return ran(op, *values), f"ran({self.constant(op)}, {text})"

    # ---- the program
    def written(self, names: list[str], results: Any, given: Any, slots: list[int], many: bool) -> Any:
        """The function that runs the recorded steps and returns the values called `names` as tensors of the kinds of `results`.
        """
        alive = {self.roots.get(name, name) for name in names} | set(names)
        lines: list[str] = []
        own = {self.roots[name] for _, _, operands, needed in self.steps if needed for name in operands} | alive
        for made, text, operands, needed in reversed(self.steps):
            if needed or alive.intersection(made):
                if not operands and len(made) == 1 and made[0] not in own:        # the same in every run
                    self.constants[made[0]] = self.arrays[made[0]]
                    continue
                alive.update(operands)
                alive.update([self.roots[name] for name in operands])
                lines.insert(0, text)
        grads = sorted({name for name in alive if name[0] == "g"})
        lines[:0] = [f"{name} = grads[{name[1:]}].array" for name in grads]
        shown = []
        for k, name in enumerate(names):
            root = self.roots.get(name, name)
            versions = None if results[k] is None else results[k]._counter
            writes = 0 if versions is None or root[0] != "t" else versions.n
            if name[0] == "g" and results[k] is given[int(name[1:])]:
                shown.append(f"grads[{name[1:]}]")
                continue
            if name == "None":
                shown.append(name)
                continue
            shown.append(f"r{k}")
            if root[0] == "y":
                raise Untraceable             # it shares the memory of a saved tensor
            elif results[k]._view is not None:
                if root[0] == "g":
                    lines.append(f"b{k} = grads[{root[1:]}]")
                else:
                    lines += new_lines(f"b{k}", root, writes)
                lines += VIEW.replace("SOURCE", f"b{k}").replace("TENSOR", f"r{k}").replace("ARRAY", name).strip().split("\n")
            else:
                owned = results[k].array.base is None and self.arrays[name].base is not None
                lines += new_lines(f"r{k}", f"whole({name})" if owned else name, writes)
        result = f"({', '.join(shown)},)" if many else shown[0]
        parameters = "".join([f", y{slot}" for slot in slots] + [f", {name}=None" for name in self.constants])
        text = f"def program(self, grads, needed{parameters}):\n    " + "\n    ".join([*lines, f"return {result}\n"])
        code = CODES.get(text)
        if code is None:
            space: dict[str, Any] = {}
            exec(compile(text, f"{__file__}:program", "exec"), space)
            code = CODES[text] = space["program"].__code__
        return FunctionType(code, SPACE, "program", tuple(self.constants.values()))


def new_lines(tensor: str, array: str, writes: int) -> list[str]:
    """The lines that create a tensor whose memory was written to so often."""
    lines = new_text(tensor, array).strip().split("\n")
    return [*lines, f"{tensor}._counter = counter({writes})"] if writes else lines


def elsewhere(op: OpDef, args: Any) -> bool:
    """Whether a device or layout other than the usual one is given."""
    place = op.device_arg
    if place < 0:
        return False
    device, layout = args[place], args[place - 1]
    return device is not None and device.type != "cpu" or layout is not None and getattr(layout, "name", "") != "strided"


def described(value: Any) -> Any:
    """A tensor of the same form whose values cannot be read."""
    if type(value) in (tuple, list):
        return [described(v) for v in value]
    unread: Any = Recorded(Recorder(), value.array, "x") if isinstance(value, Tensor) else None
    return value if unread is None else new_tensor(unread)


def same(values: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(values) == len(others) and all([v is o or type(v) is type(o) and v == o
                                               for v, o in zip(values, others, strict=True)])


def arrays_of(args: Any) -> list[Any]:
    return [a.array if isinstance(a, Tensor) else [t.array if isinstance(t, Tensor) else t for t in a]
            if type(a) in (list, tuple) and any([isinstance(t, Tensor) for t in a]) else a for a in args]


# ---- what programs call
def wrapped(values: Any) -> list[Any]:
    return [new_tensor(v) if type(v) is ndarray else [new_tensor(a) if type(a) is ndarray else a for a in v]
            if type(v) is list else v for v in values]


def ran(op: OpDef, *values: Any) -> Any:
    """The result of an op's kernel on arrays, promoted as the layers do."""
    return run_kernel(op, wrapped(values), list(values))


def whole(array: Any) -> Any:
    """The array that owns the memory, for a view of all of it in its own order, as transposing twice makes: a gradient that
    nothing else holds becomes `.grad` without a copy."""
    base = array.base
    return base if (type(base) is ndarray and base.dtype == array.dtype and base.shape == array.shape
                    and base.strides == array.strides) else array


def wrote(op: OpDef, *values: Any) -> None:
    """Run an in-place op on arrays."""
    args = wrapped(values)
    write_into(op, args[0], run_kernel(op, args, [args[0].array, *values[1:]]))


def counter(writes: int) -> Counter:
    """The version counter of memory that was written to so often."""
    made = Counter()
    made.n = writes
    return made


class Cut:
    """The place of a view on its base, for views without history: the geometry is derived where it is asked for."""

    __slots__ = ("array", "base")

    array: Any
    base: Any

    def __call__(self, t: Any) -> Any:
        return Window(new_tensor(self.array), new_tensor(self.base))(t)


# TENSOR is a view on SOURCE made where nothing is recorded
VIEW = new_text("TENSOR", "ARRAY") + """
base = SOURCE if SOURCE._view is None else SOURCE._view.base
c = SOURCE._counter
if c is None: c = counter_of(SOURCE)
TENSOR._counter = c
v = TENSOR._view = new(View)
v.op = cut = new(Cut)
cut.array, cut.base = ARRAY, base.array
v.args, v.output, v.version, v.parent, v.depth, v.base, v.creation = None, -1, c.n, None, 0, base, NO_GRAD_MODE
"""


SPACE: dict[str, Any] = dict(COMMON, np=np, ran=ran, wrote=wrote, counter=counter, counter_of=counter_of, View=View, Cut=Cut,
                             NO_GRAD_MODE=NO_GRAD_MODE, whole=whole)
