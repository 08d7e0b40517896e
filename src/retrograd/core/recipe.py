"""Recipes: the steps of a call of an op, derived from its declaration on first use.

NOTE [Recipes]
A row of the table declares an op; its recipe lists the steps of a call, in the same form for both cores:
    Binding     matches arguments to parameters: read by binder.pyx in the compiled core, by plain/calls.py in the plain one
    quick_kind  whether a call goes to the compiled kernel without promotion, and after which tests
    Rule        one derivative formula, and the sources of its arguments
    Plan        which tensors and attributes a node keeps for the gradients that are wanted
`OpDef.prepare` creates all but the bindings, which belong to public names and not to ops.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.core.opdef import OpDef
    from retrograd.core.schema import Schema

NOT_IMPLEMENTED = "not implemented"

# sources of a rule's argument
GRAD, GRADS, SAVED, ATTR, NEEDED = range(5)
# kinds of attribute slots
VALUE, SIZES, DTYPE, NDIM, STRIDES, GEOMETRY, ARGSIZE, NUMEL, SHAPE, LAYOUT, BLOCKSIZE = range(11)
ATTRIBUTE_SUFFIXES = {"_sym_sizes": SIZES, "_sym_sizes_opt": SIZES, "_scalar_type": DTYPE, "_ndim": NDIM, "_dim": NDIM,
                      "_sym_strides": STRIDES, "_geometry": GEOMETRY, "_sym_numel": NUMEL, "_shape": SHAPE, "_layout": LAYOUT,
                      "_self_sym_blocksize_opt": BLOCKSIZE}
# whether a call without recording may go straight to the compiled kernel: never, always, if all operands are float32 or
# float64, or after the check
QUICK_NO, QUICK_ANY, QUICK_FLOATS, QUICK_CHECKED = range(4)


class Binding:
    """Matches the arguments of a public call to the parameters of one overload."""

    def __init__(self, schema: Schema, is_method: bool, unreduced: bool) -> None:
        params = schema.params
        self.schema = schema
        self.params = params
        self.is_method = is_method
        self.positional: int = sum([not p.kwarg_only for p in params])
        self.required: int = max([i + 1 for i, p in enumerate(params) if p.required], default=0)   # required ones end here
        self.least: int = sum([p.required for p in params])
        # start of the ints of x.view(2, 3), which may be given separately
        self.varargs: int = (1 if is_method else 0) if schema.takes_varargs(is_method) else -1
        self.keywords: Mapping[str, int] = schema.keywords(is_method)
        self.defaults: list[Any] = [p.default for p in params]
        if unreduced and not is_method and "int reduction=1" in schema.text:       # see `make_unreduced` in api.py
            self.defaults[self.keywords["reduction"]] = 0

        # for a method: whether the receiver is its first argument
        self.takes_receiver_first: bool = not is_method or not schema.is_out and bool(params) and params[0].name == "self"


class Rule:
    """One derivative formula: the inputs it serves and the sources of its arguments."""

    __slots__ = ("fn", "index", "many", "missing", "native", "shape", "sources", "target", "targets")

    def __init__(self, fn: Any, targets: Sequence[Any], sources: Sequence[Any], many: bool) -> None:
        self.fn = fn
        self.native: Any = None       # a compiled kernel of its arguments on arrays, if it is a loop (see codegen/rules.py)
        self.targets = targets        # positions in op.inputs
        self.target: int = targets[0]
        self.sources = sources        # ((kind, index), ...)
        self.many = many              # returns a tuple, one gradient per target
        self.missing: bool = getattr(fn, "missing", False)       # a placeholder for a missing formula
        # the two most common calls, precomputed for apply: 1 is fn(grad), 2 is fn(grad, a saved tensor)
        kinds = tuple([kind for kind, _ in sources])
        self.shape: int = 1 if kinds == (GRAD,) else 2 if kinds == (GRAD, SAVED) else 0
        self.index: int = sources[1][1] if self.shape == 2 else 0


class Attribute:
    """A value other than a tensor that a node keeps, as `Plan.attrs` says, in numbers that compiled code reads at once."""

    __slots__ = ("arg", "extra", "kind", "slot")

    def __init__(self, slot: int, kind: int, arg: int, extra: int) -> None:
        self.slot = slot
        self.kind = kind
        self.arg = arg
        self.extra = extra


class Plan:
    """The values to save for one combination of inputs that need a gradient."""

    __slots__ = ("arg", "arg2", "attrs", "inputs", "kept", "only_shown", "outputs", "rest", "result", "slot", "slot2")

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any], attrs: Sequence[Any], only_shown: bool) -> None:
        self.inputs = inputs          # ((slot, argument), ...), packed before the kernel runs; the first two as numbers:
        (self.slot, self.arg), (self.slot2, self.arg2) = [*inputs, (-1, -1), (-1, -1)][:2]
        self.rest = inputs[2:]
        self.outputs = outputs        # ((slot, output), ...), packed after it
        self.result: int = outputs[0][0] if len(outputs) == 1 and outputs[0][1] == 0 else -1     # the slot of the only one
        self.attrs = attrs            # ((slot, kind, argument, extra), ...)
        self.kept = tuple([Attribute(*each) for each in attrs])
        self.only_shown = only_shown  # no rule reads the attributes, which are all values of arguments


class Slots:
    """The saved values of an op's nodes, by the parameter names of its rules."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.index: dict[str, int] = {p.name: i for i, p in enumerate(schema.params)}
        results = schema.returns
        self.returns: dict[str, int] = {(r.name or "result"): i for i, r in enumerate(results)}
        self.returns.update({"result": 0, **{f"result{i}": i for i in range(len(results))}})
        self.names: list[str] = []            # one per tensor slot
        self.outputs: list[int] = []          # output number of the slot, -1 for an input
        self.args: list[int] = []             # argument number of the slot, -1 for an output
        self.attr_names: list[str] = []
        self.attr_kinds: list[tuple[int, int, int]] = []

    def source(self, name: str) -> tuple[int, int]:
        """The source of a rule's parameter, adding a slot for it if it must be saved."""
        index, params = self.index, self.schema.params
        if name == "grad" and name not in index:      # with an input of that name, gradients are called `grads`
            return GRAD, 0
        if name == "grads":
            return GRADS, 0
        if name == "needed":
            return NEEDED, 0
        if name in index and params[index[name]].type == "Tensor":
            return SAVED, self.slot(name, index[name], -1)
        if name in index:
            return ATTR, self.attribute(name, VALUE, index[name], 0)
        if name in self.returns:
            return SAVED, self.slot(name, -1, self.returns[name])
        for suffix, kind in ATTRIBUTE_SUFFIXES.items():
            if name.endswith(suffix) and name[:-len(suffix)] in index:
                return ATTR, self.attribute(name, kind, index[name[:-len(suffix)]], 0)
        stem, _, number = name.partition("_sym_argsize_")
        if number and stem in index:
            return ATTR, self.attribute(name, ARGSIZE, index[stem], int(number.replace("minus_", "-")))
        overload = self.schema.overload or "default"
        raise TypeError(f"aten.{self.schema.name}.{overload}: a derivative rule asks for '{name}', "
                        "which is neither an argument nor a result")

    def slot(self, name: str, argument: int, output: int) -> int:
        if name not in self.names:
            self.names.append(name)
            self.args.append(argument)
            self.outputs.append(output)
        return self.names.index(name)

    def attribute(self, name: str, kind: int, argument: int, extra: int) -> int:
        if name not in self.attr_names:
            self.attr_names.append(name)
            self.attr_kinds.append((kind, argument, extra))
        return self.attr_names.index(name)

    def sort(self) -> list[int]:
        """Order the tensor slots as nodes pack and unpack them: inputs by name, then outputs; return the new number of each."""
        order = sorted(range(len(self.names)), key=lambda i: (self.outputs[i] >= 0, self.names[i]))
        self.names = [self.names[i] for i in order]
        self.outputs = [self.outputs[i] for i in order]
        self.args = [self.args[i] for i in order]
        return [order.index(i) for i in range(len(order))]


def compile_rules(op: OpDef) -> None:
    """Derive from each rule's parameter names what it needs, and assign the saved slots."""
    slots = Slots(op.schema)
    parts: list[Any] = []
    rules: list[Rule] = []
    keys: list[tuple[str, ...]] = []
    op.inputs = op.tensor_args if op.vjp == NOT_IMPLEMENTED else ()
    if isinstance(op.vjp, dict):
        keys = [k if isinstance(k, tuple) else (k,) for k in op.vjp]
        inputs = sorted(slots.index[n] for k in keys for n in k)
        for key, fn in op.vjp.items():
            many = isinstance(key, tuple)
            code = fn.__code__
            sources = [slots.source(n) for n in code.co_varnames[:code.co_argcount]]
            targets = tuple([inputs.index(slots.index[n]) for n in (key if many else (key,))])
            parts.append((fn, targets, sources, many))
        op.inputs = tuple(inputs)
    numbers = slots.sort()
    for fn, targets, sources, many in parts:
        rules.append(Rule(fn, targets, tuple([(k, numbers[i] if k == SAVED else i) for k, i in sources]), many))
    op.saved_names, op.saved_outputs, op.saved_args = slots.names, slots.outputs, slots.args
    op.attr_names, op.attr_kinds = slots.attr_names, slots.attr_kinds
    op.declared_rules = rules
    # Nodes compute gradients in the alphabetical order of inputs, visible in a graph of the backward pass.
    op.rules = [rules[i] for i in sorted(range(len(keys)), key=lambda i: ", ".join(keys[i]))]


def make_plan(op: OpDef, mask: int) -> Plan:
    """The plan for the rules of the inputs in `mask`."""
    wanted = [s for r in op.rules if any([mask >> t & 1 for t in r.targets]) for s in r.sources]
    slots: Any = {i for kind, i in wanted if kind == SAVED}
    users = [i for r in op.rules for i in {i for kind, i in r.sources if kind == SAVED}]
    # results, and inputs that several rules use, are kept for any combination of gradients
    slots = sorted(slots | {i for i in users if op.saved_outputs[i] >= 0 or users.count(i) > 1})
    used = {i for kind, i in wanted if kind == ATTR}
    attrs = [i for i, (kind, _, _) in enumerate(op.attr_kinds) if i in used or kind != STRIDES]
    return Plan(tuple([(s, op.saved_args[s]) for s in slots if op.saved_args[s] >= 0]),
                tuple([(s, op.saved_outputs[s]) for s in slots if op.saved_outputs[s] >= 0]),
                tuple([(s, *op.attr_kinds[s]) for s in attrs]),
                not used and all([op.attr_kinds[s][0] == VALUE for s in attrs]))


def choose_kernel_calls(op: OpDef) -> None:
    """Derive how calls reach the op's compiled kernel."""
    op.quick = quick_kind(op)
    op.into = getattr(op.pure.native, "inplace", None) if op.is_inplace and op.pure is not None else None
    op.straight = is_straight(op)


def is_straight(op: OpDef) -> bool:
    """Whether an op of one or two tensors has a compiled kernel of these alone that returns None for dtypes that the op's check
    refuses."""
    tensors = len(op.tensor_args)
    if tensors not in (1, 2) or op.tensor_args != tuple(range(tensors)) or getattr(op.check, "asks_more", False):
        return False
    if op.is_inplace:
        return op.into is not None and not op.composite and not ("apart" in op.traits or "guarded" in op.traits)
    by_hand = str(op.lower).startswith("@")            # such kernels may need all arguments, and leave dtypes to the check
    return (op.native is not None and op.simple and op.lower is not None and not (by_hand and (op.check is not None or op.tail))
            and not (op.multiple or op.is_view or op.has_lists or op.composite or op.real_only) and op.device_arg < 0)


def quick_kind(op: OpDef) -> int:
    """Whether a call without recording may go straight to the compiled kernel, and after which tests."""
    if op.is_inplace:
        possible = (op.native is None and op.pure is not None and op.pure.native is not None
                    and not op.pure.multiple and not op.has_lists)
    else:
        casts = "casts" in op.traits and not op.is_out         # whose kernel looks at the device itself
        possible = op.native is not None and not op.is_view and (casts or op.simple and op.device_arg < 0)
    if not possible or op.meant is not None:
        return QUICK_NO
    if op.check is None or getattr(op.check, "proven", False) and not op.is_inplace:
        return QUICK_ANY
    return QUICK_FLOATS if op.checks_dtypes else QUICK_CHECKED
