"""Generated functions for operators and ops of one or two tensors: one per op and calling convention.

NOTE [Generated ops]
The steps of `call_ordinary` and `record` as one function of one or two tensors, generated from the row of an op: which
inputs and attributes its node saves. Only the usual case is generated (ordinary float32 and float64 tensors, no mode on);
everything else goes through the dispatcher of dispatch, which the compiled core always uses.
Python's operators start as stubs and get their code on the first call, to keep import fast. The source is built from
templates and numbers of the table; it contains no user-defined names or values.
"""
from __future__ import annotations

import re
from textwrap import indent
from types import FunctionType
from typing import Any

import numpy as np

from retrograd.core.graph import AccumulateGrad, edge_from, numbers
from retrograd.core.kernels import is_spread
from retrograd.core.opdef import OpDef
from retrograd.core.recipe import SIZES, STRIDES, VALUE
from retrograd.core.record import attribute_value, node_class
from retrograd.core.saved import note_version
from retrograd.core.state import switches, tls
from retrograd.core.storage import strides_of
from retrograd.core.tensor import FLAG_DUAL, FUNCTIONS_BY_NAME, Dispatcher, Tensor, counter_of, operators

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
SINGLES: dict[float, Any] = {}        # cached float32 arrays of numbers: NumPy's conversion is slow
DOUBLES: dict[float, Any] = {}
FEW = 256


def constant(number: float, dtype: Any) -> Any:
    """A Python number as an array, cached unless it equals others (0 and -0) or not itself (NaN)."""
    known = SINGLES if dtype is F32 else DOUBLES
    made = known.get(number)
    if made is None:
        made = np.array(number, dtype)
        if number and number == number:
            if len(known) >= FEW:
                known.clear()
            known[number] = made
    return made


def keeps_arrays() -> bool:
    """Whether `out=...` makes ufuncs return 0-d arrays instead of NumPy scalars."""
    try:
        return type(np.negative(np.ones(()), out=...)) is np.ndarray
    except TypeError:
        return False


KEEPS_ARRAYS = keeps_arrays()

dispatcher = operators.dispatcher         # the one of dispatch

ABSENT = object()


def given(a: Any, b: Any = ABSENT, *rest: Any) -> Any:
    """The positional arguments of a call."""
    return (a, b, *rest) if b is not ABSENT else () if a is ABSENT else (a,)


COMMON: dict[str, Any] = dict(
    Tensor=Tensor, ndarray=np.ndarray, asarray=np.asarray, new=object.__new__, switches=switches, tls=tls, numbers=numbers,
    AccumulateGrad=AccumulateGrad, edge_from=edge_from, note_version=note_version, strides_of=strides_of,
    attribute_value=attribute_value, F32=F32, F64=F64, SINGLES=SINGLES, DOUBLES=DOUBLES, constant=constant,
    is_spread=is_spread, FLAG_DUAL=FLAG_DUAL, ABSENT=ABSENT, given=given,
)

UNARY = """
    wanted = a._requires or (a._view is not None and a._view.base._requires)
    if switches.any_mode:
        flags = tls.run_flags
        if flags:
            if flags > 1:
                return OTHERWISE
            wanted = False
    if a._flags:
        return dual(a) if a._flags == FLAG_DUAL else dispatcher.unary(op, a)
    x = a.array
    d = x.dtype
    if d is not F32 and d is not F64:
        return dispatcher.unary(op, a)
    if LOOSE and x.ndim > 2 and 0 in x.strides:        # NumPy places dimensions without a stride elsewhere
        return dispatcher.unary(op, a)
    z = FAST(x)
    if type(z) is not ndarray:
        if z is None:
            return dispatcher.unary(op, a)
        z = asarray(z)
"""

BINARY = """
    if type(b) is Tensor or isinstance(b, Tensor):
        x, y = a.array, b.array
        d = x.dtype
        if d is not y.dtype or a._flags or b._flags:
            if a._flags | b._flags or not MIXES:
                return dual(a, b) if a._flags | b._flags == FLAG_DUAL else OTHERWISE
            if (d is F32 or d is F64) and y.dtype.kind in "biu":
                y = y.astype(d)
            elif (y.dtype is F32 or y.dtype is F64) and d.kind in "biu":
                d = y.dtype
                x = x.astype(d)
            else:
                return OTHERWISE
        wanted = 2 if b._requires or (b._view is not None and b._view.base._requires) else 0
    elif NUMBERS and not a._flags and (type(b) is float or (type(b) is int and -2147483648 <= b <= 127)):
        x = a.array
        d = x.dtype
        wanted = 0
        if d is F32:
            y = SINGLES.get(b)
        elif d is F64:
            y = DOUBLES.get(b)
        else:
            return OTHERWISE
        if y is None:
            y = constant(b, d)
    else:
        return OTHERWISE
    if a._requires or (a._view is not None and a._view.base._requires):
        wanted |= 1
    if switches.any_mode:
        flags = tls.run_flags
        if flags:
            if flags > 1:
                return OTHERWISE
            wanted = 0
    if d is not F32 and d is not F64:
        return dispatcher.binary(op, a, b)
    try:
        z = FAST(x, y)
    except Exception:
        return dispatcher.binary(op, a, b)
    if type(z) is not ndarray:
        if z is None:
            return dispatcher.binary(op, a, b)
        z = asarray(z)
    elif LOOSE and z.ndim > 1 and (LEADING or not x.flags.c_contiguous or (1 in z.shape and x.strides != z.strides)) and (
            not is_spread(x, y, z)):
        return dispatcher.binary(op, a, b)
"""

# a new tensor without history; the only place where generated functions set its fields
NEW = """
TENSOR = new(Tensor)
TENSOR.array = ARRAY
TENSOR._flags = TENSOR._nr = 0
TENSOR._requires = False
TENSOR._node = TENSOR._counter = TENSOR._view = TENSOR._grad = TENSOR._sink = TENSOR._extra = None
"""


def new_text(tensor: str, array: str) -> str:
    """The lines that create a tensor from an array."""
    return NEW.replace("TENSOR", tensor).replace("ARRAY", array)


RESULT = indent(new_text("t", "z"), "    ") + """
    if not wanted:
        return t
    node = new(cls)
    node._seq_ = numbers.n = numbers.n + 1
    node._op_ = op
    node._count_ = 1
    node._shape_ = z.shape
    node._dtype_ = z.dtype
    node._nrs_ = node._saved_ = node._versions_ = node._attrs_ = node._leaves_ = node._hooks_ = node._metadata_ = None
    node._mark_ = node._waits_ = 0
    t._node = node
    t._requires = True
"""

# the edge of an input: its node; a leaf's unshared accumulator (see NOTE [Accumulators] in graph.py); the rest
EDGE = """
n = a._node
if n is None or a._view is not None:
    if n is None and a._view is None and type(a._sink) is AccumulateGrad:
        n = a._sink
        node._leaves_ = a
    else:
        n = edge_from(node, a)
"""

ONE_EDGE = indent(EDGE, "    ") + """
    node._next_ = (n,)
    if a._nr:
        node._nrs_ = [a._nr]
"""

TWO_EDGES = """
    n = m = None
    if wanted & 1:
""" + indent(EDGE, "        ") + """
        if a._nr:
            node._nrs_ = [a._nr, 0]
    if wanted & 2:
        m = b._node
        if m is None or b._view is not None:
            m = edge_from(node, b)
        if b._nr:
            node._nrs_ = [node._nrs_[0] if node._nrs_ else 0, b._nr]
    node._next_ = (n, m)
"""

INPLACE = """
    if not isinstance(b, Tensor):
        return general(given(a, b), kwargs)
    if (a._requires or b._requires or a._view is not None or b._view is not None or a._flags or b._flags
            or (switches.any_mode and tls.run_flags > 1)):
        return general((a, b), kwargs)
    x, y = a.array, b.array
    d = x.dtype
    if (d is not F32 and d is not F64) or d is not y.dtype or not x.flags.c_contiguous:
        return general((a, b), kwargs)
    try:
        ufunc(x, y, x)
    except Exception:
        return general((a, b), kwargs)
    c = a._counter
    if c is None:
        c = counter_of(a)
    c.n += 1
    return a
"""

# calling convention -> (header, number of tensors, fallback for other calls)
HEADS = {
    "operator1": ("def function(a):\n", "dispatcher.unary(op, a)"),
    "operator2": ("def function(a, b):\n", "dispatcher.binary(op, a, b)"),
    "reflected2": ("def function(a, b):\n", "general((a, b), {})"),
    "matmul2": ("def function(a, b):\n    if not isinstance(b, Tensor) or a.array.ndim != 2 or b.array.ndim != 2:\n"
                "        return general((a, b), {})\n", "dispatcher.binary(op, a, b)"),
    "method1": ("def function(a, *rest):\n    if rest or (type(a) is not Tensor and (not isinstance(a, Tensor) or a._flags)):\n"
                "        return general((a, *rest), {})\n",
                "general((a,), {})"),
    "call1": ("def function(a=ABSENT, /, *rest, **kwargs):\n"
              "    if rest or kwargs or (type(a) is not Tensor and (not isinstance(a, Tensor) or a._flags)):\n"
              "        return general(given(a, *rest), kwargs)\n", "general((a,), kwargs)"),
    "call2": ("def function(a=ABSENT, b=ABSENT, /, *rest, **kwargs):\n"
              "    if rest or kwargs or type(a) is not Tensor and not isinstance(a, Tensor):\n"
              "        return general(given(a, b, *rest), kwargs)\n", "general(given(a, b), kwargs)"),
}


def written(op: OpDef, head: str, general: Any = None) -> Any:
    """A function for `op` with the calling convention `head`; other calls go to `general(args, kwargs)`."""
    if not op._ready:
        op.prepare()
    if op.differentiable and op.inputs != tuple(range(int(head[-1]))):
        return None
    # `head` guarantees two matrices, for which `dot` has the least overhead
    space = dict(COMMON, op=op, fast=np.ndarray.dot if head == "matmul2" else op.fast, dispatcher=dispatcher, general=general,
                 cls=node_class(op) if op.differentiable else None, dual=later_dual(op))
    run_text(source(op, head), op.name, space)
    return space["function"]


WRITERS: dict[str, Any] = {}          # generators of other files: tangents.py's functions for dual tensors


def later_dual(op: OpDef) -> Any:
    """The function of an op for dual tensors, generated at its first call."""
    written: list[Any] = []

    def dual(*tensors: Any) -> Any:
        if not written:
            written.append(WRITERS["dual"](op, dispatcher))
        return written[0](*tensors)
    return dual


def written_inplace(op: OpDef, general: Any) -> Any:
    """The in-place method of a binary op whose functional form is `op`."""
    space = dict(COMMON, ufunc=op.ufunc, general=general, counter_of=counter_of)
    run_text(HEADS["call2"][0] + INPLACE, op.name, space)
    return space["function"]


def run_text(text: str, name: str, space: dict[str, Any]) -> None:
    """Execute generated code, with a file name in this package for stack traces."""
    exec(compile(text, f"{__file__}:{name}", "exec"), space)


def written_later(name: str, head: str, general: Any = None) -> Any:
    """`written` for one of Python's operators, generated on first use."""
    space: dict[str, Any] = {}

    def first_call(args: Any) -> Any:
        made = written(getattr(operators, name), head, general)
        space.update(made.__globals__)
        function.__code__ = made.__code__
        return function(*args)

    space["first_call"] = first_call
    function = FunctionType(STUB.__code__, space, name)
    return function


def STUB(*args: Any) -> Any:
    return first_call(args)  # type: ignore[name-defined]  # noqa: F821


# the operator, its op, and the calling convention; reflected forms only for commutative ops
OPERATORS = (("__add__", "add", "operator2"), ("__radd__", "add", "reflected2"), ("__sub__", "sub", "operator2"),
             ("__mul__", "mul", "operator2"), ("__rmul__", "mul", "reflected2"), ("__truediv__", "div", "operator2"),
             ("__neg__", "neg", "operator1"), ("__matmul__", "matmul", "matmul2"))


def install_operators() -> None:
    """Install the arithmetic operators of Tensor."""
    for name, op, head in OPERATORS:
        before = getattr(Tensor, name)
        function = written_later(op, head, lambda args, kwargs, before=before: before(*args))
        function.__name__, function.__qualname__, function.__doc__ = name, f"Tensor.{name}", before.__doc__
        setattr(Tensor, name, function)


def source(op: OpDef, head: str) -> str:
    """The Python source of a generated function."""
    binary = head[-1] == "2"
    text, otherwise = HEADS[head]
    text += (BINARY if binary else UNARY).replace("OTHERWISE", otherwise).replace("NUMBERS", str(bool(op.numbers))).replace(
        "LOOSE", str(op.elementwise)).replace(
        "MIXES", str(op.elementwise and op.promote is not None and op.check is None)).replace("LEADING", str(bool(op.leading)))
    if KEEPS_ARRAYS and op.ufunc is not None:
        text = text.replace("FAST(x)", "fast(x) if x.ndim else fast(x, out=...)").replace(
            "FAST(x, y)", "fast(x, y) if x.ndim or y.ndim else fast(x, y, out=...)")
    text = text.replace("FAST", "fast")
    if not op.differentiable:
        return text + indent(new_text("t", "z"), "    ") + "    return t\n"
    text += RESULT + (TWO_EDGES if binary else ONE_EDGE)
    for mask in (1, 2, 3) if binary else (1,):
        lines = kept(op, mask)
        if lines:
            text += f"    if wanted == {mask}:\n" + "".join([f"        {line}\n" for line in lines])
    return text + "    return t\n"


def kept(op: OpDef, mask: int) -> list[str]:
    """The lines that save the values for the gradients in `mask`."""
    plan = op.plan(mask)
    lines = []
    if plan.inputs or plan.outputs:
        places = {slot: "ab"[arg] for slot, arg in plan.inputs} | dict.fromkeys([slot for slot, _ in plan.outputs], "z")
        lines.append(f"node._saved_ = [{', '.join([places.get(i, 'None') for i in range(len(op.saved_names))])}]")
        for slot, arg in plan.inputs:
            a = "ab"[arg]
            check = "" if arg == 0 else f"isinstance({a}, Tensor) and "
            lines.append(f"if {check}{a}._counter is not None: note_version(node, {slot}, {a})")
    if plan.attrs and not plan.only_shown:
        values = dict.fromkeys(range(len(op.attr_names)), "None")
        for slot, kind, arg, extra in plan.attrs:
            x = "xy"[arg] if arg < len(op.tensor_args) else ""
            if kind == VALUE and not x:
                values[slot] = f"op.defaults[{arg}]"
            elif kind == SIZES and x:
                values[slot] = f"{x}.shape"
            elif kind == STRIDES and x:
                values[slot] = (f"({x}.shape[1], 1) if {x}.base is None and {x}.ndim == 2 and {x}.flags.c_contiguous "
                                f"and {x}.size else strides_of({x})")
            else:
                values[slot] = f"attribute_value({kind}, {'ab'[arg]}, {extra})"
        lines.append(f"node._attrs_ = [{', '.join(values.values())}]")
    return lines


TWO_TENSORS = r"\(Tensor \w+, Tensor \w+(, \*.*)?\) -> Tensor$"


def before(entry: Any, packet: Any, is_method: bool) -> Any:
    """The public function of an op that handles calls with one or two ordinary tensors itself, others through `entry`."""
    def others(args: Any, kwargs: Any) -> Any:
        return entry(*args, **kwargs)
    rows = packet.overloads_[:packet.declared]
    if not rows:
        op = packet.overloads_[0].functional
        writes_pair = op.ufunc is not None and "(Tensor self, Tensor other" in op.schema.text
        return written_inplace(op, others) if writes_pair else entry
    for op in rows:
        text = op.schema.text
        if op.fast is None or op.functional is not None:
            continue
        if "(Tensor self) -> Tensor" in text or "(Tensor self, *" in text:
            alone = len(rows) == 1 and "*" not in text
            return written(op, "method1" if alone and is_method else "call1", others) or entry
        if re.search(TWO_TENSORS, text):
            return written(op, "call2", others) or entry
    return entry


class WrittenDispatcher(Dispatcher):
    """The entry points of dispatch for an op and its tensors; the code of each op is generated on first use."""

    def __init__(self, dispatcher: Any) -> None:
        self.functions: dict[Any, Any] = {}
        self.behind = dispatcher                # compared with in tests
        self.call, self.refresh, self.counted, self.function = (       # type: ignore[method-assign]
            dispatcher.call, dispatcher.refresh, dispatcher.counted, dispatcher.function)

    def unary(self, op: OpDef, a: Any) -> Any:
        function = self.functions.get(op)
        if function is None:
            function = self.functions[op] = written(op, "operator1") or (lambda a: dispatcher.unary(op, a))
        return function(a)

    def binary(self, op: OpDef, a: Any, b: Any) -> Any:
        function = self.functions.get(op)
        if function is None:
            function = self.functions[op] = written(op, "operator2") or (lambda a, b: dispatcher.binary(op, a, b))
        return function(a, b)


def straight_to(name: str) -> Any:
    """An operator that runs its entry of FUNCTIONS_BY_NAME once its table is loaded, and keeps its identity."""
    space: dict[str, Any] = {}

    def first_call(args: Any) -> Any:
        result = FUNCTIONS_BY_NAME[name](*args)
        made = FUNCTIONS_BY_NAME[name]
        if type(made) is FunctionType:
            space.update(made.__globals__)
            function.__code__ = made.__code__
        return result

    space["first_call"] = first_call
    function = FunctionType(STUB.__code__, space, name)
    function.__qualname__ = f"Tensor.{name}"
    function.__wrapped__ = getattr(Tensor, name)  # type: ignore[attr-defined]
    return function


def install() -> None:
    """Install the generated operators on Tensor."""
    install_operators()
    operators.dispatcher = WrittenDispatcher(dispatcher)
    for name in ("__getitem__", "__setitem__"):
        setattr(Tensor, name, straight_to(name))
