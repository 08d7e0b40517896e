"""Derivative rules as straight-line programs over arrays, traced from a backward pass.

NOTE [Programs]
What the formulas of a node call depends on the dtypes, sizes and strides of their operands, on the other arguments of the op
and on the gradients that are wanted, and not on values. So the second time an op meets such a combination (its key), its rules
are traced (see NOTE [Traced rules] in core/tracing.py); from then on, the kernel calls alone are run, as one function. What
the layers derive from dtypes and strides is derived while tracing: promotion becomes casts, broadcasting is checked, views
lose their history, and kernels become the NumPy calls that they make (see NOTE [Straight kernels]). A gradient that is a view
of an incoming one stays that.
The rules of an elementwise op are traced on a few examples: if they call the same functions of arrays alone for every shape,
that is the program for all ordinary operands of a precision, whatever their sizes.
A rule cannot be traced if it draws random numbers, if its result has a shape that depends on values, or if it reads values
(every such read is an op that returns no tensor) or uses tensors that no op made: then it runs on tensors.
"""
from __future__ import annotations

from functools import partial
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
from retrograd.core.opdef import OpDef
from retrograd.core.plain.operators import COMMON, new_text
from retrograd.core.plain.straight import Cache, Namespace, Recorded, Recorder, attempt
from retrograd.core.recipe import ATTR, GRAD, GRADS, SAVED
from retrograd.core.record import OpNode
from retrograd.core.tensor import Counter, Tensor, View, counter_of, new_tensor
from retrograd.core.tracing import RuleTrace, Untraceable
from retrograd.core.views import NO_GRAD_MODE, Window

ndarray = np.ndarray
GENERAL_RUN = OpNode._run_
FUTILE = 3                    # impossible traces, if there were no others, after which an op has no programs
FEW = 4096                    # elements of arrays that are copied instead of made anew
EXAMPLES = ((3,), (2, 3), ())             # shapes of the operands that elementwise rules are traced with


class Programs(Cache):
    """The programs of an op's nodes by key. A program takes (node, gradients, needed edges, saved arrays...) and returns a
    gradient for each edge, or None where the rules must run on tensors."""

    def __init__(self, op: OpDef, failed: Any) -> None:
        super().__init__()
        self.op, self.failed = op, failed             # `failed()` is called when the first `FUTILE` traces were impossible
        self.slots = saved_slots(op)
        self.refused = 0

    def __missing__(self, key: Any) -> Any:
        return refuse if self.is_new(key) else lambda *values: self.learn(key, *values)

    def learn(self, key: Any, node: Any, grads: Any, needed: Any, *saved: Any) -> Any:
        """Run the rules on tensors once more, and keep what they call."""
        results = GENERAL_RUN(node, grads, needed)
        edges = [n is not None and (needed is None or needed[i]) for i, n in enumerate(node._next_)]
        program: Any = refuse
        try:
            trace = Trace()
            given = [None if g is None else trace.named(g.array, f"g{i}") for i, g in enumerate(grads)]
            kept = {slot: None if array is None else trace.named(array, f"y{slot}")
                    for slot, array in zip(self.slots, saved, strict=True)}
            made = trace.results(self.op, edges, given, kept, node._attrs_ or ())
            found = trace.program(made, results, grads, self.slots)
            if all([same_tensor(*pair) for pair in zip(found(node, grads, needed, *saved), results, strict=True)]):
                program = found
        except Untraceable:
            pass
        if program is refuse:
            self.refused += 1
            if self.refused == len(self) + 1 == FUTILE:
                self.failed()
        self.keep(key, program)
        return results


def refuse(*values: Any) -> Any:
    return None


def saved_slots(op: Any) -> list[int]:
    """The saved tensors that the rules take, in order."""
    return sorted({index for rule in op.rules for kind, index in rule.sources if kind == SAVED})


def same_tensor(a: Any, b: Any) -> bool:
    """Whether two results are equal in all that a program determines."""
    if a is None or b is None:
        return a is b
    x, y = a.array, b.array
    return (type(b) is Tensor and not b._flags and x.dtype == y.dtype and x.shape == y.shape and x.strides == y.strides
            and (a._view is None) == (b._view is None) and bool(((x == y) | ((x != x) & (y != y))).all()))


class General(dict[Any, Any]):
    """The programs of an elementwise op's nodes for all sizes, by precision and wanted edges; None where there is none."""

    def __init__(self, op: OpDef, attributes: dict[int, Any], bare: bool = False) -> None:
        super().__init__()
        self.op, self.attributes = op, attributes
        self.bare = bare              # functions of the first rule's arrays alone, which return an array

    def __missing__(self, key: Any) -> Any:
        dtype, *edges = key
        try:
            self[key] = self.program(dtype, edges)
        except Untraceable:
            self[key] = None
        return self[key]

    def program(self, dtype: Any, edges: Any) -> Any:
        """The program for all sizes."""
        made = [self.traced(dtype, edges, shape) for shape in EXAMPLES]
        if not all([alike_functions(other, made[0]) for other in made]):
            raise Untraceable("it depends on sizes")
        return made[0]

    def traced(self, dtype: Any, edges: Any, shape: Any) -> Any:
        """The program that comes of operands of one shape."""
        trace = Trace(True)
        grad = trace.named(np.full(shape, 0.5, dtype), "g0")
        slots = saved_slots(self.op)
        kept = {slot: trace.named(np.full(shape, 0.5, dtype), f"y{slot}") for slot in slots}
        made = trace.results(self.op, edges, [grad], kept, self.attributes)
        for t in made:
            if t is not None and t.array.dtype != dtype:
                raise Untraceable(f"its result is {t.dtype}")
        if self.bare:
            return trace.recorder.function(trace.recorded(made[0]), ["g0", *[f"y{slot}" for slot in slots]])
        return trace.program(made, made, [grad], slots)


def alike_functions(a: Any, b: Any) -> bool:
    """Whether two written functions do the same."""
    return a.__code__ is b.__code__ and all(
        [x is y or type(x) is type(y) and (same_tensor(new_tensor(x), new_tensor(y)) if type(x) is ndarray else x == y)
         for x, y in zip(a.__defaults__ or (), b.__defaults__ or (), strict=True)])


class Trace(RuleTrace):
    """Runs kernels on arrays that record what is done with them. With `elementwise`, only kernels that are the same functions
    for all sizes can be recorded."""

    def __init__(self, elementwise: bool = False) -> None:
        super().__init__()
        self.recorder = Recorder()
        self.elementwise = elementwise

    def named(self, array: Any, name: str) -> Any:
        """A new tensor for an operand called `name`."""
        return self.tensor(self.recorder.array(array, name))

    def tensor(self, made: Any) -> Any:
        """A new tensor for a recorded array."""
        if type(made.held) is not ndarray and not self.elementwise:
            made = self.recorder.call(np.asarray, (made,), {})
        return self.hold(new_tensor(np.asarray(made.held)), made)

    def recorded(self, t: Any) -> Any:
        """The recorded array of a tensor, which must be known."""
        made = self.known.get(id(t))
        if made is None or t._flags:
            raise Untraceable("it uses a tensor that no op made")
        return made

    def results(self, op: OpDef, edges: list[bool], grads: Any, saved: Any, attrs: Any) -> list[Any]:
        """The gradients that the rules of a node give, one for each edge."""
        spans = [(i, -1) for i in range(len(edges))]
        if op.has_lists:                          # the edges and the number of each argument's tensors
            spans = list(zip(*attrs[len(op.attr_names)], strict=True))
        results: list[Any] = [None] * len(edges)
        for rule in op.rules:
            places = [spans[i] for i in rule.targets]
            flags: list[Any] = [edges[start:start + max(count, 0) + (count < 0)] for start, count in places]
            if not any([any(f) for f in flags]):
                continue
            flags = edges if not op.has_lists else flags[0] if len(flags) == 1 else flags
            values = [grads[0] if kind == GRAD else grads if kind == GRADS else saved[i] if kind == SAVED else
                      attrs[i] if kind == ATTR else flags for kind, i in rule.sources]
            made = self.run(partial(rule.fn, *values))
            if made is None:
                raise Untraceable("a rule gives no gradient")
            for (start, count), gradient in zip(places, made if rule.many else (made,), strict=True):
                if count < 0:
                    results[start] = gradient if edges[start] else None
                elif gradient is not None:
                    results[start:start + count] = gradient
        return results

    # ---- one op
    def _process(self, op: OpDef, args: Any) -> Any:
        if not op._ready:
            op.prepare()
        if (op.random or op.is_out or op.composite or op.kernel is None or op.flips or op.meta == "values"
                or "reads_values" in op.traits or "inplace_view" in op.traits or elsewhere(op, args)
                or self.elementwise and not (op.elementwise and op.simple)):
            raise Untraceable(f"{op} depends on more than the forms of its operands")
        given = mapped(args, self.recorded)
        if op.is_inplace:
            self.recorder.check_own(given[0])
            self.recorder.opaque(wrote, (op, *given), True)
            return args[0]
        z = self.computed(op, args, given)
        if not op.multiple:
            return self.tensor(z)
        made = [None if a is None else self.tensor(a) for a in z]
        return made if op.returns_list else op.result_type(*made) if op.result_type is not None else tuple(made)

    def computed(self, op: OpDef, args: Any, given: list[Any]) -> Any:
        """The recorded result of a kernel."""
        values = mapped(args, lambda t: t.array)
        uniform = plain_uniformity(op, values)
        if op.check is not None and not (op.checks_dtypes and uniform == 2):
            try:
                attempt(op.check, mapped(args, described))
            except Untraceable:
                return self.through(op, given)
        if any([type(v) is ndarray and v.dtype.kind == "W" for v in values]):
            return self.through(op, given)
        own = list(given)
        if not uniform:
            if op.promote is not None:
                check_shapes(op, args)
                before = list(values)
                promote_operands(op, args, values)
                for i in op.tensor_args:
                    if values[i] is not before[i]:
                        if type(values[i]) is not ndarray:
                            return self.through(op, given)
                        cast = type(before[i]) is ndarray
                        own[i] = given[i].astype(values[i].dtype) if cast else values[i]
                        if cast and (own[i].shape != values[i].shape or own[i].strides != values[i].strides):
                            return self.through(op, given)
            if op.widen and widen(op, list(values)) is not None:
                return self.through(op, given)
        order = orders(op, args, values) if op.elementwise and not uniform else None
        for i in op.dtype_args:
            if own[i] is not None:
                own[i] = own[i].numpy
        z = self.ran(op, own)
        if order is not None and isinstance(z, Recorded) and z.ndim > 1 and in_order(op, order, z.held) is not z.held:
            return self.through(op, given)
        return z

    def ran(self, op: OpDef, values: list[Any]) -> Any:
        """A kernel's result: its own lines, or one that calls it."""
        recorder, count = self.recorder, len(op.tensor_args)
        if op.direct:
            function, args = op.compute, [values[i] for i in op.tensor_args]
        elif isinstance(op.fast, np.ufunc) and op.tensor_args == tuple(range(count)) and same(values[count:], op.tail):
            function, args = op.fast, values[:count]
        else:
            function, args = op.compute, [Namespace(np, recorder), *values]
        mark = len(recorder.lines)
        try:
            made = attempt(function, args)
            items = made if op.multiple else (made,)
            if type(items) in (tuple, list) and all([a is None or type(a) is Recorded for a in items]):
                return made
            if type(made) is ndarray and made.size <= FEW and made.strides == made.copy("K").strides:
                # it depends on sizes and dtypes alone
                return recorder.record(f"{recorder.constant(made)}.copy('K')", [], made)
        except Untraceable:
            pass
        del recorder.lines[mark:]
        return recorder.opaque(function, [np if type(a) is Namespace else a for a in args])

    def through(self, op: OpDef, given: list[Any]) -> Any:
        """A kernel call with all that the layers do for it."""
        return self.recorder.opaque(ran, (op, *given))

    # ---- the program
    def program(self, made: list[Any], results: Any, given: Any, slots: list[int]) -> Any:
        """The function that runs what was recorded and returns the tensors `made`, as tensors of the kinds of `results`."""
        recorder = self.recorder
        arrays = [None if t is None else self.recorded(t) for t in made]
        shown: list[str] = []
        tail: list[str] = []
        for k, array in enumerate(arrays):
            earlier = [j for j in range(k) if made[j] is made[k] and results[j] is results[k]]
            if array is None or earlier:
                shown.append("None" if array is None else shown[earlier[0]])
                continue
            name, root = array.name, recorder.roots[array.name]
            if name[0] == "g" and results[k] is given[int(name[1:])]:
                shown.append(f"grads[{name[1:]}]")
                continue
            shown.append(f"r{k}")
            versions = results[k]._counter
            writes = 0 if versions is None or root[0] != "t" else versions.n
            if root[0] == "y":
                raise Untraceable("a gradient shares the memory of a saved tensor")
            if self.elementwise:
                tail.append(f"if type({name}) is not ndarray: {name} = asarray({name})")
            if results[k]._view is not None:
                if root[0] == "g":
                    tail.append(f"b{k} = grads[{root[1:]}]")
                else:
                    tail += new_lines(f"b{k}", root, writes)
                tail += VIEW.replace("SOURCE", f"b{k}").replace("TENSOR", f"r{k}").replace("ARRAY", name).strip().split("\n")
            else:
                owned = results[k].array.base is None and array.held.base is not None
                tail += new_lines(f"r{k}", f"whole({name})" if owned else name, writes)
        tail.append(f"return [{', '.join(shown)}]")
        names = [a.name for a in arrays if a is not None]
        roots = [recorder.roots[name] for name in names]
        head = [f"g{i} = grads[{i}].array" for i, g in enumerate(given) if g is not None]
        parameters = ["self", "grads", "needed", *[f"y{slot}" for slot in slots]]
        return recorder.written([*names, *roots], parameters, head, tail, SPACE)


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


def described(t: Any) -> Any:
    """A tensor of the same form whose values cannot be read."""
    unread: Any = Recorded(Recorder(), t.array, "x")
    return new_tensor(unread)


def same(values: Any, others: tuple[Any, ...]) -> bool:
    return len(values) == len(others) and all([v is o or type(v) is type(o) and v == o
                                               for v, o in zip(values, others, strict=True)])


def mapped(args: Any, function: Any) -> list[Any]:
    """Arguments with the results of a function in the places of tensors."""
    return [function(a) if isinstance(a, Tensor) else [function(t) if isinstance(t, Tensor) else t for t in a]
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


SPACE: dict[str, Any] = dict(COMMON, np=np, counter=counter, counter_of=counter_of, View=View, Cut=Cut,
                             NO_GRAD_MODE=NO_GRAD_MODE, whole=whole)
