"""Calls in the plain core: each public name binds by the types of its arguments, and runs a function generated for them.

NOTE [Call patterns]
The overload of a call and the conversion of each argument depend on the types of the arguments and the names of the
keywords, rarely on values. So a public function caches code by these types: the second call of a pattern generates a
function specialised for the overload, defaults, conversions, differentiable inputs and kernel. The first call, and all
calls that do not fit a pattern (a mode is on, a tensor has flags, a list holds other types, an argument is wrong), are
bound by the schemas and go through the layers, which handle all other cases and raise PyTorch's errors. A pattern returns
`ASK` for them.

A pattern is generated only if the overloads before its own refuse such types for all values. In the compiled core
binder.pyx does the same without code per op. The source is built from templates and numbers of the table; it contains no
user-defined names or values.
"""
from __future__ import annotations

from textwrap import indent
from types import FunctionType
from typing import Any

from retrograd.core import dispatch
from retrograd.core.arguments import resolve
from retrograd.core.convert import MISMATCH, SMALL
from retrograd.core.device import device as device_class
from retrograd.core.dtypes import dtype as dtype_class
from retrograd.core.lists import Each
from retrograd.core.opdef import OpDef
from retrograd.core.plain.bodies import ASK, SPACE, Body, layered
from retrograd.core.plain.operators import F32, F64, run_text
from retrograd.core.recipe import Binding
from retrograd.core.state import tls
from retrograd.core.tensor import Size, Tensor

MOST = 64                      # maximum patterns per name


def ask(*args: Any) -> Any:
    return ASK


def entry(name: str, schemas: Any, targets: Any, general: Any, is_method: bool, unreduced: bool) -> Any:
    """A function that runs the target of the first schema that a call fits: an op, or a function of the bound arguments. The
    first pattern without keywords becomes part of its code."""
    patterns: dict[Any, Any] = {}
    seen: set[Any] = set()

    def others(args: Any, kwargs: Any) -> Any:
        if kwargs:
            key = (*map(type, args), *kwargs, *map(type, kwargs.values()))
            pattern = patterns.get(key)
            if pattern is not None:
                made = pattern(*args, *kwargs.values())
                return general(*args, **kwargs) if made is ASK else made
        else:
            key = tuple(map(type, args))
            pattern = patterns.get(key)
            if pattern is not None:
                made = pattern(*args)
                return general(*args) if made is ASK else made
        called = not is_method or args and isinstance(args[0], Tensor)
        if called and is_ordinary(args) and is_ordinary(kwargs.values()):
            if key in seen:
                bindings = [Binding(schema, is_method, unreduced) for schema in schemas]
                call = Call(name, bindings, targets, args, kwargs)
                if kwargs or function.__code__ is not ENTRY.__code__ or not put_first(function, call):
                    patterns[key] = written(call)
            elif len(seen) < MOST:
                seen.add(key)
        return general(*args, **kwargs)

    function = FunctionType(ENTRY.__code__, {"others": others, "general": general, "__package__": __package__}, name)
    function.__qualname__ = name
    return function


def ENTRY(*args: Any, **kwargs: Any) -> Any:
    return others(args, kwargs)  # type: ignore[name-defined]  # noqa: F821


def put_first(function: Any, call: Call) -> bool:
    """Let a public function run the body of calls like this one itself; False if that has no body."""
    lines = body_of(call)
    if lines is None or not call.args:
        return False
    text, space = lines
    types = {f"T{i}": type(value) for i, value in enumerate(call.args)}
    tests = " and ".join([f"type({a}) is T{i}" for i, a in enumerate(call.names)])
    text = (f"def function(*args, **kwargs):\n    if len(args) == {len(types)} and not kwargs:\n"
            f"        {', '.join(call.names)}, = args\n        if {tests}:\n"
            + indent(text.replace("return ASK", "return general(*args)"), "        ") + "    return others(args, kwargs)\n")
    made = dict(function.__globals__, **space, **types)
    run_text(text, call.schema.name, made)
    function.__globals__.update(made)
    function.__code__ = made["function"].__code__
    return True


# ---- values
def is_ordinary(values: Any) -> bool:
    """Whether code may be generated for these values: tensors without flags (the first one of a list represents all) and
    values of built-in types; user-defined classes are not cached."""
    for value in values:
        first = value[0] if type(value) in (list, tuple) and value else value
        if first._flags if isinstance(first, Tensor) else type(first) not in KNOWN:
            return False
    return True


def ints(value: Any) -> Any:
    """The ints of a list or tuple as a tuple; None if it is empty or has other items."""
    for item in value:
        if type(item) is not int:
            return None
    return tuple(value) or None


def numbers(value: Any) -> Any:
    """The numbers of a list or tuple as a tuple; None if it is empty, has other items or large integers."""
    for item in value:
        if type(item) is not float and (type(item) is not int or not -SMALL <= item <= SMALL):
            return None
    return tuple(value) or None


def tensors(value: Any) -> Any:
    """The tensors of a list or tuple as a list; None if it is empty or has other items."""
    for item in value:
        if not isinstance(item, Tensor) or item._flags:
            return None
    return list(value) or None


NUMBERS = (int, float, bool, complex)
KNOWN = frozenset([*NUMBERS, str, type(None), tuple, list, Size, dtype_class, device_class])
NUMERIC = ("int", "bool", "float", "Scalar")
LISTS = {"int": "ints", "Tensor": "tensors", "Scalar": "numbers_of"}


class Call:
    """One call by its types: the overload, and an expression for each parameter."""

    def __init__(self, name: str, bindings: list[Binding], targets: Any, args: Any, kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs
        self.values = (*args, *kwargs.values())
        self.names = [f"a{i}" for i in range(len(self.values))]
        self.lines: list[str] = []            # conversions, executed first
        self.flagged: list[str] = []          # the tensors that must have no flags
        self.space: dict[str, Any] = {}
        self.index = -1
        try:
            index, bound = resolve(name, [b.schema for b in bindings], args, kwargs, bindings[0].is_method)
        except Exception:
            return
        binding = bindings[index]
        schema = self.schema = binding.schema
        self.bound = bound
        self.target = targets[index]
        places = self.places(binding)
        if places is None or not all([self.refuses(earlier) for earlier in bindings[:index]]):
            return
        self.expressions: list[str] = []
        self.types = {i: type(bound[i]) for i in range(len(schema.params))}
        for i, p in enumerate(schema.params):
            place = places.get(i)
            if place is None:
                default = binding.defaults[i]
                self.expressions.append(repr(default) if default is None or type(default) in (int, bool) else f"D{i}")
                self.space[f"D{i}"] = default
            else:
                made = self.converted(i, p, place, bound[i])
                if made is None:
                    return
                self.expressions.append(made)
        self.index = index

    def places(self, binding: Binding) -> dict[int, Any] | None:
        """For each given parameter: the index of its argument, or the slice of several ints."""
        if not binding.takes_receiver_first or "out" in self.kwargs and self.kwargs["out"] is None:
            return None
        count = len(self.args)
        first = binding.varargs
        if 0 <= first < count and type(self.args[first]) is int:
            places: dict[int, Any] = {i: i for i in range(first)}
            places[first] = slice(first, count)
        else:
            places = {i: i for i in range(count)}
        for i, keyword in enumerate(self.kwargs):
            if keyword not in binding.keywords:
                return None
            places[binding.keywords[keyword]] = count + i
        return places

    def refuses(self, binding: Binding) -> bool:
        """Whether an overload refuses all calls with arguments of these types."""
        schema, params = binding.schema, binding.params
        if binding.is_method and (schema.is_out or not schema.takes_self):
            return True
        places = self.places(binding)
        if places is None:
            return binding.takes_receiver_first
        if len(self.args) > binding.positional and not any([type(at) is slice for at in places.values()]):
            return True
        if any([p.required and i not in places for i, p in enumerate(params)]):
            return True
        return any([certainly_not(params[i], [self.values[at]] if type(at) is int else self.values[at])
                    for i, at in places.items() if i < len(params)])

    def converted(self, i: int, p: Any, place: Any, bound: Any) -> str | None:
        """The expression for a given parameter; None if it depends on more than types."""
        if type(place) is slice:
            names = self.names[place]
            if any([type(value) is not int for value in self.values[place]]):
                return None
            return f"({', '.join(names)},)"
        value, a = self.values[place], self.names[place]
        kind = type(value)
        if isinstance(value, Tensor):
            self.flagged.append(a)
            return a if bound is value and p.type == "Tensor" and not p.is_list else None
        if value is None:
            return "None" if bound is None else None
        if kind in (tuple, list, Size):
            if not p.is_list or p.type not in LISTS or p.item_optional or p.writes and not self.schema.writes_list:
                return None
            convert = LISTS[p.type]
            self.lines += [f"c{i} = {convert}({a})", f"if c{i} is None: return ASK"]
            return f"c{i}"
        if p.is_list:
            return f"({a},) * {p.list_size}" if p.list_size and kind is int and p.type == "int" else None
        if kind is int and p.type == "float":
            return f"float({a})"
        if kind in NUMBERS and p.type in NUMERIC or kind is str and p.type == "str":
            return a if bound is value else None
        return a if bound is value and kind in (dtype_class, device_class) else None


def certainly_not(p: Any, values: Any) -> bool:
    """Whether a parameter refuses each of these values by type alone."""
    for value in values:
        if isinstance(value, Tensor):
            if p.type == "Tensor" and not p.is_list or p.type in ("int", "Scalar", "float", "bool") and not (
                    type(value) is Tensor and value.array.dtype in (F32, F64) and p.type in ("int", "bool")):
                return False
            if p.is_list and p.type == "int":
                return False
        elif value is None or type(value) in (tuple, list, Size, str):
            try:
                if p.convert(value) is not MISMATCH:
                    return False
            except Exception:
                return False
            if type(value) in (tuple, list, Size) and (not value or isinstance(value[0], Tensor)) and p.is_list and (
                    p.type != "Scalar"):          # no list of numbers has tensors
                return False
        elif type(value) not in NUMBERS and type(value) not in (dtype_class, device_class) or p.convert(value) is not MISMATCH:
            return False
    return True


def written(call: Call) -> Any:
    """The function for calls like this one."""
    lines = body_of(call)
    if lines is None:
        return ask
    text, space = lines
    run_text(f"def pattern({', '.join(call.names)}):\n" + text, call.schema.name, space)
    return space["pattern"]


def body_of(call: Call) -> tuple[str, dict[str, Any]] | None:
    """The lines that run calls like this one, and the names that they use; None if they depend on more than types."""
    if call.index < 0:
        return None
    text = ""
    if call.flagged:
        text += f"    if {' or '.join([f'{a}._flags' for a in call.flagged])}: return ASK\n"
    text += "".join([f"    {line}\n" for line in call.lines])
    space = dict(SPACE, ints=ints, tensors=tensors, numbers_of=numbers, **call.space)
    op = call.target
    if type(op) is OpDef:
        body = Body(meaning(op), call.expressions, call.types, example=call.bound)
        if call.schema.writes_list and (type(op.compute) is not Each or not call.args or not body.each()):
            return None
        text += body.text()
        space.update(body.space)
    else:
        space["target"] = op
        text += Body.ORDINARY + f"    return target([{', '.join(call.expressions)}])\n"
    return text, space


def meaning(op: OpDef) -> OpDef:
    """The op that runs for `op`: itself, or the one it is an alias of."""
    if not op._ready:
        op.prepare()
    if op.meant is None:
        return op
    if not op.meant._ready:
        op.meant.prepare()
    return op.meant


# ---- calls of ops on arguments in schema order
BODIES: dict[Any, Any] = {}           # the generated function for an op and the types of its arguments; None after one call
MOST_BODIES = 8192


def call_written(op: OpDef, args: Any) -> Any:
    """`dispatch.call` by the function generated for the types of the arguments; a tensor with flags, a mode or an error takes
    the call to the layers."""
    body = BODIES.get((op, *map(type, args)))
    if body is None:
        return call_first(op, args)
    made = body(*args)
    return layered(op, args) if made is ASK else made


def call_first(op: OpDef, args: Any) -> Any:
    """A call without a generated function, which pays off from the second one on."""
    if not tls.slow_path and is_ordinary(args):
        key = (op, *map(type, args))
        if key in BODIES:
            BODIES[key] = written_body(op, args)
        elif len(BODIES) < MOST_BODIES:
            BODIES[key] = None
    return layered(op, args)


def written_body(op: OpDef, args: Any) -> Any:
    """The function for calls of `op` with arguments of these types."""
    op = meaning(op)
    if len(args) != len(op.schema.params):
        return layered_body(op)
    expressions, lines, flagged = [], [], []
    for i, (p, value) in enumerate(zip(op.schema.params, args, strict=True)):
        a = f"a{i}"
        if p.type == "Tensor" and (type(value) is list or isinstance(value, Tensor)):
            if p.item_optional:
                return layered_body(op)
            if type(value) is list:
                lines += [f"c{i} = tensors({a})", f"if c{i} is None: return ASK"]
                a = f"c{i}"
            else:
                flagged.append(a)
        elif p.type == "Tensor" and value is not None and type(value) is not int and type(value) is not float:
            return layered_body(op)
        expressions.append("None" if value is None else a)
    text = f"def pattern({', '.join([f'a{i}' for i in range(len(args))])}):\n"
    if flagged:
        text += f"    if {' or '.join([f'{a}._flags' for a in flagged])}: return ASK\n"
    text += "".join([f"    {line}\n" for line in lines])
    body = Body(op, expressions, {i: type(value) for i, value in enumerate(args)}, False, args)
    text += body.text()
    space = dict(SPACE, tensors=tensors, **body.space)
    run_text(text, op.name, space)
    return space["pattern"]


def layered_body(op: OpDef) -> Any:
    return lambda *args: layered(op, list(args))


def install() -> None:
    """Let `dispatch.call`, wherever it was imported, use generated functions."""
    dispatch.call.__globals__.update(BODIES=BODIES, call_first=call_first, layered=layered, ASK=ASK)
    dispatch.call.__code__ = call_written.__code__
