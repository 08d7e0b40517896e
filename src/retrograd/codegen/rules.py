"""Derivative rules as loops: a rule that calls elementwise ops only is one loop over the gradient and the saved arrays.

NOTE [Rules as loops]
At build time every rule is traced (see NOTE [Traced rules] in core/tracing.py) on small tensors, without computing anything.
If each op that it calls has an elementwise `lower`, their texts joined are the `lower` of the rule, and its kernel is named
`sin_default.self`: op and input. Its arguments are those of the rule, in order. A number that the rule gets stays an
argument; it is recognised by its value, in two runs with different values. Another argument that is not a tensor must have its
default. `OpNode._run_` calls the kernel where nothing is recorded and no mode is on. tests/codegen/test_rules.py lists the
rules that are no loops, with the reason of each.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from retrograd.codegen.loops import FORMULAS, FUNCTIONS, Substitute, alternatives, names_in, statements, truth
from retrograd.core.opdef import OPS, OpDef
from retrograd.core.recipe import ATTR, GRAD, SAVED, VALUE, Rule
from retrograd.core.schema import REQUIRED
from retrograd.core.tensor import new_tensor
from retrograd.core.tracing import RuleTrace, Untraceable

LITERALS = (int, float, bool, str, type(None))
EXAMPLES = ((0.625, np.float32, (2, 3)), (0.4375, np.float64, (4,)))      # a number, and the dtype and shape of tensors
LONGEST = 600             # the text of a loop that is worth its size


class LoweredRule:
    """A rule as a loop: `text` names the tensors and numbers among its `parameters`; others have their `defaults`."""

    def __init__(self, name: str, text: str, parameters: list[str], tensors: list[str], numbers: list[str],
                 defaults: dict[str, Any]) -> None:
        self.name, self.text, self.parameters = name, text, parameters
        self.tensors, self.numbers, self.defaults = tensors, numbers, defaults


def lowered_rules() -> Iterator[LoweredRule]:
    """The rules of all ops that can be loops."""
    for op, rule in elementwise_rules():
        try:
            yield lowered(op, rule)
        except Untraceable:
            pass


def reasons() -> dict[str, str]:
    """Why each of the other rules is not a loop, by the name that its kernel would have."""
    found = {}
    for op, rule in elementwise_rules():
        try:
            lowered(op, rule)
        except Untraceable as reason:
            found[name_of(op, rule)] = str(reason)
    return found


def elementwise_rules() -> Iterator[tuple[OpDef, Rule]]:
    """The rules of all elementwise ops, with their ops."""
    for packet in list(OPS.values()):
        for op in packet.overloads_:
            if op.functional is None and not op.schema.is_inplace and not op.schema.is_out and isinstance(op.vjp, dict):
                op.prepare()
                if op.elementwise and not op.has_lists and not op.multiple:
                    yield from [(op, rule) for rule in op.rules]


def name_of(op: OpDef, rule: Rule) -> str:
    return f"{op.name}_{op.overload}.{op.schema.params[op.inputs[rule.target]].name}"


def parameter(kind: int, index: int) -> str:
    return "g" if kind == GRAD else f"{'s' if kind == SAVED else 'a'}{index}"


def lowered(op: OpDef, rule: Rule) -> LoweredRule:
    """The rule as a loop; Untraceable if it cannot be one."""
    if rule.missing or rule.many:
        raise Untraceable("there is no formula" if rule.missing else "one formula serves several inputs")
    defaults: dict[str, Any] = {}
    numbers: list[str] = []
    for kind, i in rule.sources:
        if kind not in (GRAD, SAVED, ATTR):
            raise Untraceable("it asks which gradients are wanted")
        if kind == ATTR:
            what, argument, _ = op.attr_kinds[i]
            param = op.schema.params[argument]
            if what != VALUE:
                raise Untraceable("it takes the form of a tensor")
            if param.type in ("Scalar", "float") and not param.optional and not param.is_list:
                numbers.append(parameter(kind, i))
            elif param.default is REQUIRED or type(param.default) not in LITERALS:
                raise Untraceable(f"it takes {param.type} {param.name}")
            else:
                defaults[parameter(kind, i)] = param.default
    text, other = [traced(rule, numbers, defaults, *example) for example in EXAMPLES]
    if text != other:
        raise Untraceable("it depends on dtypes or sizes")
    if len(text) > LONGEST:
        raise Untraceable(f"it is longer than {LONGEST} characters")
    parameters = [parameter(kind, i) for kind, i in rule.sources]
    tensors = [parameter(kind, i) for kind, i in rule.sources if kind != ATTR]
    used = {n for _, e in statements(text) for n in names_in(e)}
    if not used.issuperset([*tensors, *numbers]):
        raise Untraceable("it does not use all that it takes")
    return LoweredRule(name_of(op, rule), text, parameters, tensors, numbers, defaults)


def traced(rule: Rule, numbers: list[str], defaults: dict[str, Any], number: float, dtype: Any, shape: Any) -> str:
    """The loop's text for one example."""
    trace = Trace(np.dtype(dtype), shape)
    values: list[Any] = []
    for kind, i in rule.sources:
        name = parameter(kind, i)
        if name in defaults:
            values.append(defaults[name])
        elif name in numbers:
            values.append(number + 0.015625 * len(trace.numbers))
            trace.numbers[values[-1]] = name
        else:
            values.append(trace.example(name))
    made = trace.run(partial(rule.fn, *values))
    if not trace.lines or trace.known.get(id(made)) != f"t{len(trace.lines) - 1}":
        raise Untraceable("its result is not that of the last op")
    if made.array.dtype != dtype:
        raise Untraceable(f"its result is {made.dtype}")
    *steps, (_, final) = [step for lines in trace.lines for step in lines]
    return "; ".join([*[f"{name} = {text}" for name, text in steps], final])


class Trace(RuleTrace):
    """Notes the loops of the ops that are called; it computes nothing, and refuses ops without one."""

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        super().__init__()
        self.dtype, self.shape = dtype, shape
        self.numbers: dict[float, str] = {}       # the names of numbers by their value
        self.lines: list[list[tuple[str, str]]] = []

    def example(self, name: str, is_truth: bool = False) -> Any:
        """A tensor for what `name` stands for."""
        return self.hold(new_tensor(np.full(self.shape, True if is_truth else 0.5, np.bool_ if is_truth else self.dtype)), name)

    def _process(self, op: OpDef, args: Any) -> Any:
        name = f"t{len(self.lines)}"
        lines = joined(op, [self.spelled(value) for value in args], args, name)
        self.lines.append(lines)
        return self.example(name, truth(ast.parse(lines[-1][1], mode="eval").body))

    def spelled(self, value: Any) -> str | None:
        """The text of an operand: a name, or a number."""
        if type(value) is float and value in self.numbers:
            return self.numbers[value]
        if type(value) in (int, float) and isfinite(value):
            return f"({value!r})"
        return self.known.get(id(value))


def joined(op: OpDef, operands: list[str | None], values: Any, result: str) -> list[tuple[str, str]]:
    """The statements of an op's `lower` with other names; Untraceable if they are not elementwise."""
    params = op.schema.params
    names = [p.name for p in params]
    for wanted, text in alternatives(op.lower or ""):
        if any([values[names.index(n)] is not value and values[names.index(n)] != value for n, value in wanted.items()]):
            continue
        if not text or text.startswith(("@", "by rows")) or "->" in text or op.lower in ("matmul", "bmm", "addmm"):
            break
        parts = statements(text)
        used = {n for _, e in parts for n in names_in(e)}
        replaced = {}
        for p, value, operand in zip(params, values, operands, strict=True):
            if p.name in used and p.name not in wanted:
                if operand is None:
                    raise Untraceable(f"{op} takes a value of no op for {p.name}")
                replaced[p.name] = operand
            elif p.name not in wanted and (isinstance(value, list) or value is not p.default and value != p.default):
                raise Untraceable(f"{op} has no loop for {p.name}")
        local = {target: f"{result}_{target}" for target, _ in parts[:-1]}
        if used - set(replaced) - set(local) - FUNCTIONS - set(FORMULAS) - {"inf", "nan"}:
            break
        made = [(local.get(target, target), renamed(e, {**replaced, **local})) for target, e in parts]
        return [*made[:-1], (result, made[-1][1])]
    raise Untraceable(f"{op} is not elementwise")


def renamed(e: ast.expr, names: dict[str, str]) -> str:
    """The text of an expression with other names."""
    values = {name: ast.parse(text, mode="eval").body for name, text in names.items()}
    return ast.unparse(ast.fix_missing_locations(Substitute(values).visit(e)))
