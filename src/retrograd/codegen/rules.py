"""Derivative rules as loops: a rule that calls elementwise ops only is one loop over the gradient and the saved arrays.

NOTE [Rules as loops]
A derivative formula is written with tensors, so that it can be differentiated and seen by modes. In most backward passes
neither is needed. So at build time every rule runs on small tensors while a dispatch mode notes the ops that it calls, without
computing them; if each has an elementwise `lower`, their texts joined are the `lower` of the rule, and its kernel is named
`sin_default.self`: op and input. Its arguments are those of the rule, in order. A number that the rule gets stays an
argument; it is recognised by its value, in two runs with different values. Another argument that is not a tensor must have its
default. `OpNode._run_` calls the kernel where nothing is recorded and no mode is on.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np

from retrograd.codegen.loops import FORMULAS, FUNCTIONS, REDUCE, guards, names_in, statements, truth
from retrograd.core.modes import pop_mode, push_mode
from retrograd.core.opdef import OPS, OpDef
from retrograd.core.recipe import ATTR, GRAD, SAVED, VALUE, Rule
from retrograd.core.schema import REQUIRED
from retrograd.core.state import set_grad_enabled
from retrograd.core.tensor import new_tensor

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
    for packet in list(OPS.values()):
        for op in packet.overloads_:
            if op.functional is not None or op.schema.is_inplace or op.schema.is_out or not isinstance(op.vjp, dict):
                continue
            op.prepare()
            if op.elementwise and not op.has_lists and not op.multiple:
                yield from filter(None, [lowered(op, rule) for rule in op.rules])


def parameter(kind: int, index: int) -> str:
    return "g" if kind == GRAD else f"{'s' if kind == SAVED else 'a'}{index}"


def lowered(op: OpDef, rule: Rule) -> LoweredRule | None:
    """The rule as a loop, None if it cannot be one."""
    if rule.many or rule.missing or len(rule.sources) > 8 or any([kind not in (GRAD, SAVED, ATTR) for kind, _ in rule.sources]):
        return None
    defaults: dict[str, Any] = {}
    numbers: list[str] = []
    for kind, i in rule.sources:
        if kind == ATTR:
            what, argument, _ = op.attr_kinds[i]
            param = op.schema.params[argument]
            if what != VALUE:
                return None
            if param.type in ("Scalar", "float") and not param.optional and not param.is_list:
                numbers.append(parameter(kind, i))
            elif param.default is REQUIRED or type(param.default) not in LITERALS:
                return None
            else:
                defaults[parameter(kind, i)] = param.default
    texts = [traced(rule, numbers, defaults, *example) for example in EXAMPLES]
    if texts[0] is None or texts[0] != texts[1] or len(texts[0]) > LONGEST:
        return None
    parameters = [parameter(kind, i) for kind, i in rule.sources]
    tensors = [parameter(kind, i) for kind, i in rule.sources if kind != ATTR]
    used = {n for _, e in statements(texts[0]) for n in names_in(e)}
    if not used.issuperset([*tensors, *numbers]):
        return None
    name = f"{op.name}_{op.overload}.{op.schema.params[op.inputs[rule.target]].name}"
    return LoweredRule(name, texts[0], parameters, tensors, numbers, defaults)


def traced(rule: Rule, numbers: list[str], defaults: dict[str, Any], number: float, dtype: Any, shape: Any) -> str | None:
    """The loop's text for one example."""
    values: list[Any] = []
    names: dict[int, str] = {}
    known: dict[float, str] = {}
    for kind, i in rule.sources:
        name = parameter(kind, i)
        if name in defaults:
            values.append(defaults[name])
        elif name in numbers:
            values.append(number + 0.015625 * len(known))
            known[values[-1]] = name
        else:
            values.append(new_tensor(np.full(shape, 0.5, dtype)))
            names[id(values[-1])] = name
    watcher = Trace(names, known, np.dtype(dtype), shape)
    was = set_grad_enabled(False)
    push_mode(watcher)
    try:
        made = rule.fn(*values)
    except Exception:             # it asks for more than elementwise ops: see Trace
        return None
    finally:
        pop_mode()
        set_grad_enabled(was)
    last = f"t{len(watcher.lines) - 1}"
    if not watcher.lines or watcher.names.get(id(made)) != last or made.array.dtype != dtype:
        return None
    *steps, (_, final) = [step for lines in watcher.lines for step in lines]
    return "; ".join([*[f"{name} = {text}" for name, text in steps], final])


class Trace:
    """A dispatch mode that notes the loops of the ops that are called; it computes nothing, and refuses other ops."""

    def __init__(self, names: dict[int, str], numbers: dict[float, str], dtype: Any, shape: Any) -> None:
        self.names, self.numbers, self.dtype, self.shape = names, numbers, dtype, shape
        self.held: list[Any] = []     # keeps the tensors alive, so that ids stay unique
        self.lines: list[list[tuple[str, str]]] = []

    def __torch_dispatch__(self, op: OpDef, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        bound = op.schema.bind(args, kwargs or {})
        name = f"t{len(self.lines)}"
        lines = joined(op, [self.spelled(value) for value in bound], bound, name)
        if lines is None:
            raise NotImplementedError(f"{op} is not elementwise")
        self.lines.append(lines)
        is_truth = truth(ast.parse(lines[-1][1], mode="eval").body)
        made = new_tensor(np.full(self.shape, True if is_truth else 0.5, np.bool_ if is_truth else self.dtype))
        self.names[id(made)] = name
        self.held.append(made)
        return made

    def spelled(self, value: Any) -> str | None:
        """The text of an operand: a name, or a number."""
        if type(value) is float and value in self.numbers:
            return self.numbers[value]
        if type(value) in (int, float) and isfinite(value):
            return f"({value!r})"
        return self.names.get(id(value))


def joined(op: OpDef, operands: list[str | None], bound: list[Any], result: str) -> list[tuple[str, str]] | None:
    """The statements of an op's `lower` with other names; None if the op has none that is elementwise."""
    params = op.schema.params
    names = [p.name for p in params]
    texts = op.lower.items() if isinstance(op.lower, dict) else [("", op.lower)] if isinstance(op.lower, str) else []
    for guard, text in texts:
        wanted = guards(guard)
        if text.startswith(("@", "by rows")) or "->" in text or op.lower in ("matmul", "bmm", "addmm"):
            return None
        if any([bound[names.index(n)] is not value and bound[names.index(n)] != value for n, value in wanted.items()]):
            continue
        parts = statements(text)
        used = {n for _, e in parts for n in names_in(e)}
        if used & (set(REDUCE) | {"numel", "largest"}):
            return None
        replaced = {}
        for p, value, operand in zip(params, bound, operands, strict=True):
            if p.name in wanted:
                continue
            if p.name in used:
                if operand is None:
                    return None
                replaced[p.name] = operand
            elif isinstance(value, list) or value is not p.default and value != p.default:
                return None
        local = {target: f"{result}_{target}" for target, _ in parts[:-1]}
        if used - set(replaced) - set(local) - FUNCTIONS - set(FORMULAS) - {"inf", "nan"}:
            return None
        made = [(local.get(target, target), renamed(e, {**replaced, **local})) for target, e in parts]
        made[-1] = (result, made[-1][1])
        return made
    return None


def renamed(e: Any, names: dict[str, str]) -> str:
    """The text of an expression with other names."""
    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return ast.parse(names[node.id], mode="eval").body if node.id in names else node

        def visit_Call(self, node: ast.Call) -> Any:
            node.args = [self.visit(a) for a in node.args]
            return node
    return ast.unparse(ast.fix_missing_locations(Put().visit(e)))
