"""Forward mode: runs an op's jvp column, so that tangents travel with the values they belong to.

NOTE [Dual tensors]
A dual tensor carries its tangent in `_extra.tangent` and FLAG_DUAL in `_flags`. While a level is open, the slow path of
dispatch runs ops through `run`, around autograd: formulas see primals (the same value and history, no tangent), so
tangents have a graph of their own. A tangent has its primal's layout down to the storage, which makes every view of the
one a possible view of the other. Results of view ops take the same view of the tangent. An in-place op writes the tangent
in place; if a view had none, its base gets one and the view's becomes a view of that. A write that gives a base a tangent
does not update its existing views: once that happens (`levels.lends`) tensors without a tangent look it up on their base,
and every op of the thread takes the slow path until the level ends.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from retrograd.core import storage
from retrograd.core.graph import Node, edge_of
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef
from retrograd.core.recipe import ARGSIZE, ATTR, DTYPE, GRAD, GRADS, NDIM, NOT_IMPLEMENTED, SAVED, SIZES, STRIDES, VALUE
from retrograd.core.saved import kept_alias
from retrograd.core.state import add_slow_path, grad_enabled, tls
from retrograd.core.tensor import (
    FLAG_CONJ,
    FLAG_DUAL,
    FLAG_NEG,
    FLAG_WRAPPER,
    Extra,
    Tensor,
    View,
    counter_of,
    new_tensor,
    operators,
    wants_grad,
)
from retrograd.core.views import apply_step

Call = Callable[[Any, Any], Any]      # (op, arguments) -> result


class Levels:
    """The open forward-mode level of the process (they do not nest) and the tensors that have a tangent in it."""

    __slots__ = ("current", "duals", "lends")

    def __init__(self) -> None:
        self.current: int = -1
        self.lends: bool = False              # some tensor may have to look up its tangent on its base
        # Keyed by id: a new tensor at the address of a freed one replaces its entry.
        self.duals: dict[int, Any] = {}

    def close(self) -> None:
        """Leave the level and drop all tangents."""
        self.current = -1
        if self.lends:
            self.lends = False
            add_slow_path(-1)
        duals, self.duals = self.duals, {}
        for reference in duals.values():
            t = reference()
            if t is not None:
                t._flags &= ~FLAG_DUAL
                t._extra.tangent = None


levels = Levels()
here = levels                             # alias with a static type in the compiled module


class Boundary:
    """A view step that forward mode does not follow: its result has tangents of its own."""

    __slots__ = ("tensor",)

    def __init__(self, t: Tensor) -> None:
        self.tensor = ref(t)

    def __call__(self, base: Any) -> Any:
        array = base.array
        return base.as_strided(array.shape, storage.strides_of(array), storage.offset_of(array))


# ---- tangents
def tangent_of(t: Tensor) -> Tensor | None:
    """The tangent of `t` at the open level, None if it has none."""
    if here.current < 0 or not tls.fwd_grad_enabled:
        return None
    return own_tangent(t)


def own_tangent(t: Tensor) -> Tensor | None:
    """`tangent_of` where forward mode is known to be on."""
    if t._flags & FLAG_DUAL:
        extra = t._extra
        if extra is not None and extra.tangent is not None:
            return extra.tangent
    if here.lends and t._view is not None:
        base, steps = path_from_base(t)
        lent = None if base is None else own_tangent(base)
        if lent is not None:
            return attach(t, retrace(steps, lent))
    return None


def attach(t: Tensor, tangent: Tensor) -> Tensor:
    """Set `tangent` as the tangent of `t`, without a copy."""
    extra = t._extra
    if extra is None:
        extra = t._extra = Extra()
    extra.tangent = tangent
    t._flags |= FLAG_DUAL
    here.duals[id(t)] = ref(t)
    return tangent


def give_tangent(t: Tensor, tangent: Tensor, written: bool = False) -> None:
    """Set `tangent`, or a copy in the layout of `t`, as its tangent; with `written` (an in-place op) also on its base."""
    if tangent._flags & FLAG_DUAL and tangent_of(tangent) is not None:
        raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same "
                           f"level{levels.current} is not supported.")
    if tangent.array.shape != t.array.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, "
                           f"this is not supported. Tensor is of size {list(t.array.shape)} while the given forward "
                           f"gradient is of size {list(tangent.array.shape)}.")
    if written and t._view is not None:
        base, steps = path_from_base(t)
        if base is not None and tangent_of(base) is None:
            if same_layout(tangent, base) and same_layout(tangent, t):
                attach(base, tangent)
            else:
                whole = attach(base, zeros_in_layout(tangent, base))
                part = retrace(steps, whole)
                part.copy_(tangent)
                tangent = part
    if (tangent._flags ^ t._flags) & (FLAG_CONJ | FLAG_NEG) and (tangent._flags ^ t._flags) & FLAG_WRAPPER:
        tangent = tangent.resolve_conj().resolve_neg()
    if not same_layout(tangent, t):
        made = zeros_in_layout(tangent, t)
        made.copy_(tangent)
        tangent = made
    attach(t, tangent)


def primal_of(t: Tensor) -> Tensor:
    """The value and history of `t` without its tangent; `t` itself if it has none."""
    return twin_of(t) if t._flags & FLAG_DUAL else t


def twin_of(t: Tensor) -> Tensor:
    """Another tensor with the value and history of `t`, and no tangent."""
    twin = new_tensor(t.array)
    twin._flags = t._flags & ~FLAG_DUAL
    twin._counter = counter_of(t)
    if t._flags & FLAG_WRAPPER:
        twin._extra = t._extra
    node = t._node
    if node is None or t._view is not None:
        node = edge_of(t)
    if node is not None:
        twin._node, twin._nr, twin._requires = node, t._nr, True
    return twin


def path_from_base(t: Tensor) -> tuple[Any, list[View]]:
    """The tensor whose tangent contains that of view `t`, and the view steps from there; (None, ...) if `t` is not a view."""
    steps: list[View] = []
    view = t._view
    while view is not None:
        if type(view.op) is Boundary:
            return (view.op.tensor() if steps else None), steps
        steps.append(view)
        if view.parent is None:
            return view.base, steps
        view = view.parent
    return None, steps


def retrace(steps: list[View], t: Tensor) -> Tensor:
    """Apply view `steps` (last first) to `t`."""
    for step in reversed(steps):
        t = apply_step(step, t)
    return t


# ---- layout
def same_layout(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have the same memory layout, so that every view of one is possible on the other."""
    if (a._flags ^ b._flags) & (FLAG_CONJ | FLAG_NEG):
        return False
    x, y = a.array, b.array
    if x.dtype is y.dtype and x.base is None and y.base is None and x.shape == y.shape and x.strides == y.strides:
        return True
    if x.shape != y.shape:
        return False
    # the storage of a batched tensor holds all examples, and that of its tangents may be laid out differently
    if storage_length(x) != storage_length(y) and not (a._flags | b._flags) & FLAG_WRAPPER:
        return False
    if x.size == 0:
        return True
    if storage.offset_of(x) != storage.offset_of(y):
        return False
    strides = zip(x.shape, storage.strides_of(x), storage.strides_of(y), strict=True)
    return all([n == 1 or s == r for n, s, r in strides])


def storage_length(array: np.ndarray) -> int:
    return int(storage.owner_of(array).nbytes) // int(array.itemsize)


def zeros_in_layout(tangent: Tensor, t: Tensor) -> Tensor:
    """Zeros of the tangent's dtype with the strides, offset and storage size of `t`."""
    if tangent._flags & FLAG_WRAPPER:
        return hooks.batched_zeros(tangent, t)
    array = t.array
    memory = np.zeros(storage_length(array), tangent.array.dtype)
    made = new_tensor(storage.strided(memory, array.shape, storage.strides_of(array), storage.offset_of(array)))
    made._flags = t._flags & (FLAG_CONJ | FLAG_NEG)
    return made


def zeros_of(value: Any) -> Any:
    """The tangent of an argument that has none: zeros for tensors and numbers, item by item for lists."""
    if isinstance(value, Tensor):
        return new_tensor(np.zeros_like(value.array))
    if isinstance(value, (list, tuple)):
        return [zeros_of(item) for item in value]
    return value if value is None else 0j if isinstance(value, complex) else 0       # makes real tangents complex


# ---- running ops
def run(op: OpDef, args: Sequence[Any], autograd: Call) -> Any:
    """Run `op` on the autograd layer; if an input has a tangent, the differentiable outputs get one."""
    if not tls.fwd_grad_enabled:
        return autograd(op, args)
    tangents = tangents_among(args, op.inputs if op.differentiable and not op.is_out else op.tensor_args)
    if tangents is None:
        return autograd(op, args)
    if op.is_out:
        refuse_out(op, bare(args), autograd)
    if not op.differentiable:
        result = autograd(op, args)
        if op.is_inplace and tangents[0] is not None:     # the op is not differentiable: the new value has derivative zero
            tangents[0].zero_()
        return result
    if op.jvp is None or op.vjp == NOT_IMPLEMENTED:
        raise no_forward_mode(op)
    if op.is_inplace:
        return run_inplace(op, args, tangents, autograd)
    if recorded(op, args, tangents):
        values = primals(args)
        result = autograd(op, args)
    else:
        values = bare(args)
        result = autograd(op, args) if op.is_view else operators.dispatcher.call(op, values)
    made = tangents_of(op, values, tangents, result)
    if op.multiple:
        for nr, tangent in enumerate(made):
            settle(op, result[nr], nr, tangent)
    else:
        settle(op, result, 0, made)
    return result


def recorded(op: OpDef, args: Sequence[Any], tangents: list[Any]) -> bool:
    """Whether any of these requires grad, so that their histories matter."""
    if not grad_enabled():
        return False
    for i in op.inputs:
        value, tangent = args[i], tangents[i]
        if isinstance(value, Tensor) and (tangent is None or isinstance(tangent, Tensor)):
            if wants_grad(value) or (tangent is not None and wants_grad(tangent)):
                return True
        elif any_wants_grad(value) or any_wants_grad(tangent):
            return True
    return False


def any_wants_grad(value: Any) -> bool:
    if isinstance(value, Tensor):
        return wants_grad(value)
    if isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, Tensor) and wants_grad(item):
                return True
    return False


def batched_among(tangents: list[Any], default: Tensor) -> Tensor:
    """A batched tangent if there is one, else `default`: the target of batched tangents must be batched."""
    for tangent in tangents:
        if isinstance(tangent, Tensor) and tangent._flags & FLAG_WRAPPER:
            return tangent
    return default


def tangents_among(args: Sequence[Any], places: tuple[Any, ...]) -> list[Any] | None:
    """The tangents of the arguments at `places`, in a list as long as `args`; None if there are none."""
    found = None
    for i in places:
        value = args[i]
        tangent: Any = None
        if isinstance(value, Tensor):
            if value._flags & FLAG_DUAL or here.lends:
                tangent = own_tangent(value)
        elif isinstance(value, (list, tuple)):
            tangent = [own_tangent(item) if isinstance(item, Tensor) else None for item in value]
            if all([item is None for item in tangent]):
                tangent = None
        if tangent is not None:
            if found is None:
                found = [None] * len(args)
            found[i] = tangent
    return found


def settle(op: OpDef, result: Tensor, nr: int, tangent: Tensor | None) -> None:
    """Set the tangent of output `nr` and of its saved copy: gradients taken at this level have tangents too."""
    if result is None or tangent is None or result.array.dtype.kind not in "fcVW":
        return
    if op.is_view or (tangent._flags | result._flags == 0 and tangent._view is None and same_layout(tangent, result)):
        attach(result, tangent)
    else:
        if tangent.array.shape != result.array.shape:
            tangent = tangent.expand(result.array.shape)
        give_tangent(result, tangent)
        tangent = own_tangent(result)      # may be a copy in the layout of the result
    if op.saves_result and result._node is not None:
        share_with_saved(op, result._node, nr, tangent)


def share_with_saved(op: OpDef, node: Node, nr: int, tangent: Any) -> None:
    saved = node._saved_
    for slot, output in enumerate(op.saved_outputs):
        if output == nr and saved is not None and type(kept_alias(node, slot)) is Tensor:
            attach(saved[slot], tangent)


def refuse_out(op: OpDef, values: Sequence[Any], call: Call) -> NoReturn:
    """Raise for an op with out= that has an argument with a tangent; the errors of the op itself come first."""
    call(op, [*values[:op.out_arg], *[t.clone() for t in values[op.out_arg:]]])
    raise NotImplementedError(f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= "
                              "function")


def run_inplace(op: OpDef, args: Sequence[Any], tangents: list[Any], autograd: Call) -> Tensor:
    """Run an in-place op and write the tangent of its target in place too."""
    target, own = args[0], tangents[0]
    if target.array.dtype.kind not in "fcVW":          # no tangent
        return autograd(op, args)
    aliased = own is None and target._counter is not None
    if op.jvp == "linear" and not (op.elementwise and len(op.inputs) > 1 and recorded(op, args, tangents)):
        autograd(op, args)
        made = own if own is not None else zeros_in_layout(batched_among(tangents, target), target)
        values = substituted(op, args, tangents)
        values[0] = made
        operators.dispatcher.call(op, values)
        if own is None and not any([isinstance(t, Tensor) and t.array.shape != target.array.shape for t in tangents]):
            counter_of(made).n = 0           # PyTorch's is another tangent, not zeros that were written to
    else:
        # formulas need the value that the write destroys; it may be more than one argument
        before = primal_of(target).clone()
        values = primals([before if value is target else value for value in args])
        if own is not None and recorded(op, args, tangents):
            tangents[0] = own.clone()         # the graph of the tangent may save the memory that is about to be written
        autograd(op, args)
        functional = op.functional or op
        if not functional._ready:
            functional.prepare()
        made = tangents_of(functional, values, tangents, target)
        if made.array.shape != target.array.shape:
            made = made.expand(target.array.shape)
        if own is not None:
            own.copy_(made)
            made = own
    if own is None:
        give_tangent(target, made, written=True)
        if aliased and not levels.lends:
            levels.lends = True
            add_slow_path(1)
    node = target._node
    if op.saves_result and node is not None:
        if target._view is not None:
            node = target._view.base._node.inner
        share_with_saved(op, node, 0, tangent_of(target))
    return target


def no_forward_mode(op: OpDef) -> NotImplementedError:
    return NotImplementedError(
        f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented yet.\n"
        "Please file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml "
        "so that we can prioritize its implementation or submit a PR adding the implementation to derivatives.yaml")


# ---- the jvp column
def tangents_of(op: OpDef, args: Sequence[Any], tangents: list[Any], result: Any) -> Any:
    """The tangents of the outputs of a functional op from primals and their tangents (None where there is none)."""
    jvp = op.jvp
    if jvp == "multilinear":
        return multilinear(op, args, tangents)
    if jvp == "elementwise":
        return elementwise(op, args, tangents, result)
    if jvp == "linear":
        return operators.dispatcher.call(op, substituted(op, args, tangents))
    return by_formula(op, args, tangents, result)


def substituted(op: OpDef, args: Sequence[Any], tangents: list[Any]) -> list[Any]:
    """The arguments with the differentiable ones replaced by their tangents."""
    values = list(args)
    for i in op.inputs:
        values[i] = complete(args[i], tangents[i])
    return values


def complete(value: Any, tangent: Any) -> Any:
    """The tangent of an argument, zeros where it has none."""
    if tangent is None:
        return zeros_of(value)
    if isinstance(tangent, list):
        return [zeros_of(v) if t is None else t for v, t in zip(value, tangent, strict=True)]
    return tangent


def primals(args: Sequence[Any]) -> list[Any]:
    return [primal_of(a) if isinstance(a, Tensor)
            else [primal_of(t) if isinstance(t, Tensor) else t for t in a] if isinstance(a, (list, tuple)) else a
            for a in args]


def bare(args: Sequence[Any]) -> list[Any]:
    """`primals` without their histories where these do not matter."""
    values = []
    for a in args:
        if isinstance(a, Tensor):
            if a._flags & FLAG_DUAL:
                dual = a
                value = new_tensor(dual.array)
                value._flags = dual._flags & ~FLAG_DUAL
                a = value
        elif isinstance(a, (list, tuple)):
            a = bare(a)
        values.append(a)
    return values


def multilinear(op: OpDef, args: Sequence[Any], tangents: list[Any]) -> Tensor:
    """The sum over the inputs of the op with one of them replaced by its tangent.

    The term of the last input of an elementwise product comes first, with the tangent before the other factor: the sum has
    the layout of its first term.
    """
    values = list(args)
    total = None
    for i in reversed(op.inputs) if op.elementwise else op.inputs:
        tangent = tangents[i]
        if tangent is None:
            continue
        if op.elementwise and i:
            total = operators.dispatcher.call(op, [tangent, args[0], *args[2:]])
            continue
        for one in each(values[i], tangent) if isinstance(tangent, list) else (tangent,):
            primal, values[i] = values[i], one
            total = plus(total, operators.dispatcher.call(op, values))
            values[i] = primal
    if isinstance(total, Tensor) and grad_enabled() and (not tls.linearizing or not op.elementwise):
        missing = [i for i in op.inputs if tangents[i] is None and args[i] is not None]
        if missing:
            total = linked(total, [args[j] for j in op.inputs if any([i != j for i in missing])])
    return summed(total, op, args, tangents)


def linked(total: Tensor, factors: list[Any]) -> Tensor:
    """A tangent plus the terms of missing tangents, in whose place PyTorch has zeros: they are zero, with a history if one of
    their other factors has one.
    """
    for factor in factors:
        if isinstance(factor, Tensor) and wants_grad(factor):
            t: Any = factor
            zero = t.reshape(-1)[:0].sum()
            total = total + (zero if zero.dtype is total.dtype else zero.to(total.dtype))
    return total


def summed(total: Any, op: OpDef, args: Sequence[Any], tangents: list[Any]) -> Tensor:
    """The sum over the inputs' tangents, including missing ones where a graph is recorded, as in PyTorch."""
    if isinstance(total, Tensor) and total.requires_grad and any([tangents[i] is None and args[i] is not None
                                                                  for i in op.inputs]):
        made: Any = total
        return made.to(made.dtype, copy=True) if tls.linearizing and op.elementwise else made + 0
    return total


def each(value: Any, tangents: list[Any]) -> list[Any]:
    """For a list of factors: the lists with one factor replaced by its tangent."""
    return [[*value[:k], t, *value[k + 1:]] for k, t in enumerate(tangents) if t is not None]


def plus(a: Tensor | None, b: Tensor) -> Tensor:
    if a is None or b is None:
        return b if a is None else a
    return [plus(x, y) for x, y in zip(a, b, strict=True)] if isinstance(b, (list, tuple)) else a + b


def elementwise(op: OpDef, args: Sequence[Any], tangents: list[Any], result: Tensor) -> Tensor:
    """For an op on elements the Jacobian is diagonal: J t = conj(J^H conj(t)), and the vjp rule gives J^H."""
    outcome = twin_of(result) if op.saves_result else None    # the result in its own tangent's graph would be a cycle
    total: Any = None
    for rule in op.declared_rules:
        for k, place in enumerate(rule.targets):
            tangent = tangents[op.inputs[place]]
            if tangent is None:
                continue
            if rule.missing:
                raise no_forward_mode(op)
            grad = conjugate(tangent)
            if rule.shape == 1:
                made = rule.fn(grad)
            elif rule.shape == 2:
                argument = op.saved_args[rule.index]
                made = rule.fn(grad, args[argument] if argument >= 0 else outcome)
            else:
                made = rule.fn(*[rule_value(op, kind, index, grad, args, outcome, place)
                                 for kind, index in rule.sources])
            if rule.many:
                made = made[k]
            if made is not None:
                total = plus(total, conjugate(made))
    if total is None:
        total = new_tensor(np.zeros_like(result.array))
    elif len(op.inputs) > 1:
        total = summed(total, op, args, tangents)
    # The gradient of a real input is real; its tangent's image in a complex result must be complex.
    return total.to(result.dtype) if total.array.dtype.kind != result.array.dtype.kind else total


def rule_value(op: OpDef, kind: int, index: int, grad: Tensor, values: Sequence[Any], result: Any, place: int) -> Any:
    """The value of a vjp rule's parameter when the rule runs without a node."""
    if kind == GRAD:
        return grad
    if kind == SAVED:
        return values[op.saved_args[index]] if op.saved_args[index] >= 0 else result
    if kind == ATTR:
        what, argument, extra = op.attr_kinds[index]
        return values[argument] if what == VALUE else fact(what, values[argument], extra)
    return [grad] if kind == GRADS else [i == place for i in range(len(op.inputs))]


def fact(kind: int, value: Any, extra: int) -> Any:
    """The value of a rule parameter such as `<input>_sym_sizes`, computed from the argument."""
    if not isinstance(value, Tensor):
        return () if kind in (SIZES, STRIDES) else 0 if kind == NDIM else None
    if kind == SIZES:
        return value.shape
    if kind == DTYPE:
        return value.dtype
    if kind == NDIM:
        return value.array.ndim
    if kind == ARGSIZE:
        return value.array.shape[extra]
    strides = storage.strides_of(value.array)
    return strides if kind == STRIDES else (value.array.shape, strides, storage.offset_of(value.array))


def conjugate(t: Tensor) -> Tensor:
    return t.conj() if t.array.dtype.kind in "cW" else t


# ---- formulas
PRIMAL, TANGENT, ARGUMENT, OUTPUT = range(4)
SOURCES: dict[Any, Any] = {}          # op -> where each parameter of its formula comes from


def by_formula(op: OpDef, args: Sequence[Any], tangents: list[Any], result: Any) -> Any:
    """The tangents computed by the op's own jvp formula."""
    sources = SOURCES.get(op)
    if sources is None:
        sources = SOURCES[op] = formula_sources(op)
    values = []
    partial = getattr(op.jvp, "partial", False)          # whether it accepts None for a missing tangent
    for kind, index in sources:
        if kind == TANGENT:
            values.append(tangents[index] if partial else complete(args[index], tangents[index]))
        elif kind == OUTPUT:
            output = result[index] if op.multiple and not op.returns_list else result
            values.append(twin_of(output) if isinstance(output, Tensor) else output)
        else:
            values.append(args[index])
    return op.jvp(*values)


def formula_sources(op: OpDef) -> tuple[tuple[int, int], ...]:
    """The source of each parameter of the op's formula, derived from its name."""
    index = {p.name: i for i, p in enumerate(op.schema.params)}
    outputs = {(r.name or "result"): i for i, r in enumerate(op.schema.returns)}
    outputs.update({"result": 0}, **{f"result{i}": i for i in range(len(op.schema.returns))})
    sources = []
    code = op.jvp.__code__
    for name in code.co_varnames[:code.co_argcount]:
        if name[-2:] == "_p" and name[:-2] in index:
            sources.append((PRIMAL, index[name[:-2]]))
        elif name[-2:] == "_t" and name[:-2] in index:
            sources.append((TANGENT, index[name[:-2]]))
        elif name in index:
            sources.append((ARGUMENT, index[name]))
        elif name in outputs:
            sources.append((OUTPUT, outputs[name]))
        else:
            raise TypeError(f"{op}: a forward formula asks for '{name}', which is neither an argument nor a result")
    return tuple(sources)
