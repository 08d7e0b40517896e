"""Ops over lists of tensors: `_foreach_add` and similar ops apply `add` to each tensor of a list.

Every tensor gets a node of its own, named after the list op. Those nodes belong to copies of the single ops' rows,
which have no public name.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.lists import Each, has_lazy_bits, has_subclass, map_each, write_each
from retrograd.core.modes import is_shown
from retrograd.core.opdef import OpDef, camel, defop, find_packet
from retrograd.core.schema import Schema
from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_SUBCLASS, Tensor, bump, wants_grad
from retrograd.core.views import check_inplace
from retrograd.ops import late
from retrograd.ops.reduction.sums import vector_norm
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import only, takes
from retrograd.ops.shared.elementwise import check_sub, unsupported, where
from retrograd.ops.shared.families import number_like

ITEMS: dict[str, Any] = {}            # node name -> the row that makes it


def item(base: Any, node: str, check: Any = None, vjp: Any = None) -> Any:
    """A copy of an op's row with another node name and, optionally, another check and other rules."""
    made = ITEMS.get(node)
    if made is None:
        made = ITEMS[node] = OpDef(base.schema, base.kernel, vjp=vjp or base.vjp, jvp=base.jvp, batch=base.batch,
                                   promote=base.promote, widen=base.widen, node=node, functional=base.functional,
                                   numbers=base.numbers, scalars=base.scalars, check=check or base.check, exact=base.exact,
                                   leading=base.leading, lower=base.lower)
    return made


def row(name: str, overload: str) -> Any:
    return getattr(find_packet(name), overload)


# ---- checks of lists
def check_lists(first: Any, *others: Any) -> None:
    if not len(first):
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in others:
        if len(other) != len(first):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(first)} and {len(other)}")


def check_scalars(first: Any, scalars: Any) -> None:
    if not len(first):
        raise RuntimeError("Tensor list must have at least one tensor.")
    if len(scalars) != len(first):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def check_lazy_bits(name: str, tensors: Any) -> None:
    """Refuse to write to lists with conjugated or negated tensors."""
    if has_lazy_bits(list(tensors)):
        kind = "conjugate" if any([t.is_conj() for t in tensors]) else "negation"
        raise RuntimeError(f" fallback doesn't currently support mutable TensorLists with {kind} inputs. Please materialize "
                           f"all the {kind} input tensor(s) in the mutable TensorList inputs before calling {name}")


def check_bools(op: Any, tensors: Any, numbers: Any) -> None:
    """Ask the op's check about bools among the numbers, which it is not asked for floating-point tensors."""
    for number in numbers:
        if type(number) is bool and op.checks_dtypes and op.check is check_sub:
            op.check(tensors[0], number, 1)


def number_of(other: Any) -> Any:
    """The number of a scalar given as a 0-d tensor."""
    if other.ndim != 0 or other.numel() != 1:
        raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {other.ndim} dimensions and {other.numel()} "
                           "elements.")
    return other


def listed(schema: str, compute: Any, variants: str = "function") -> None:
    """Declare a list op; `compute` makes the list of results."""
    made: list[Any] = []
    kernel = seen_whole(made, compute)
    each = getattr(compute, "each", None)
    if each is not None:
        kernel = Each(kernel, *each)
    made.append(defop(schema, kernel=kernel, composite=True, out=False, variants=variants))


def one_by_one(compute: Any, single: Any, width: int, tail: tuple[Any, ...] = (), spreads: bool = False,
               bare: bool = False) -> Any:
    """Declare the single-tensor op of `compute` for valid lists (see `Each`)."""
    compute.each = (single, width, tail, spreads, bare, False)
    return compute


def seen_whole(op: list[Any], compute: Any) -> Any:
    """A list op that dispatch modes and `__torch_dispatch__` see as one op, unless autograd records each tensor."""
    def run(*args: Any) -> Any:
        if switches.any_mode and tls.slow_path or has_subclass(args):
            watched = tls.dispatch_modes and getattr(tls.dispatch_modes[-1], "_process", None) is None
            if (watched or overridden(args)) and not (tls.grad_enabled and any([wants_grad(t) for t in tensors_in(args)])):
                hidden = watched and not is_shown(tls.dispatch_modes[-1])
                result = (hooks.dispatch_mode if watched else hooks.dispatch_subclass)(op[0], list(args))
                for t in args[0] if hidden and op[0].is_inplace else ():      # shown modes see no versions, as in PyTorch
                    bump(t)
                return result
        return compute(*args)
    return run


def tensors_in(args: Any) -> list[Any]:
    return [t for value in args if isinstance(value, (list, tuple)) for t in value if isinstance(t, Tensor)]


def overridden(args: Any) -> bool:
    """Whether a class of the tensors overrides dispatch."""
    return not tls.dispatch_disabled and any([type(t).__torch_dispatch__ is not Tensor.__torch_dispatch__
                                              for t in tensors_in(args) if t._flags & FLAG_SUBCLASS])


def in_place(name: str, overload: str, arguments: str, single: str, spread: Any = None, node: str = "",
             vjp: Any = None) -> None:
    """Declare the in-place form: `single` is the in-place op for one tensor, called with the items of lists. `spread` turns
    the last argument, a tensor of numbers, into a list. `node` is the name of the nodes, by default that of the single
    op."""
    def kernel(self: Any, *rest: Any) -> Any:
        check_lazy_bits(f"aten::{name}_", self)
        recorded = [t for t in self if wants_grad(t)] if tls.grad_enabled else []
        for t in recorded:                    # check all tensors before the first write
            check_inplace(t, True)
        for argument in rest:
            if isinstance(argument, (list, tuple)):
                check_scalars(self, argument) if "ScalarList" in overload else check_lists(self, argument)
        check_lists(self)
        if spread is not None:
            rest = tuple([spread(self, a) if hasattr(a, "array") else a for a in rest])
        packet, _, form = single.partition(".")
        op = row(packet, form or "default")
        if recorded and node:
            op = item(op, node, vjp=vjp)
        for argument in rest:
            check_bools(op, self, argument if isinstance(argument, (list, tuple)) else [argument])
        columns = [argument for argument in rest if isinstance(argument, (list, tuple))]
        tail = [argument for argument in rest if not isinstance(argument, (list, tuple))]
        write_each(op, self, columns, tail + [p.default for p in op.schema.params[1 + len(rest):]])

    def written() -> Any:
        packet, _, form = single.partition(".")
        return row(packet, form or "default")
    made: list[Any] = []
    dot = f".{overload}" if overload else ""
    schema = f"{name}_{dot}(Tensor(a!)[] self{arguments}) -> ()"
    width = 1 + arguments.split(", *")[0].count(",")
    made.append(defop(schema, kernel=Each(seen_whole(made, kernel), written, width, (), False, True, True), composite=True,
                      out=False, variants="function", functional=row(name, overload or "default")))


# ---- functions of one tensor (most of them are in foreach_unary.py)
listed("_foreach_zero(Tensor[] self) -> Tensor[]", lambda self: [late.zeros_like(t) for t in self], "")
in_place("_foreach_zero", "", "", "zero_")


def largest(self: Any) -> Any:
    check_lists(self)
    if any([not t.numel() for t in self]):
        raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined.")
    return map_each(item(row("max", "default"), "ForeachMaxBackward1"), [self], ())


listed("_foreach_max(Tensor[] self) -> Tensor[]", largest)


def norms(self: Any, ord: Any, dtype: Any) -> Any:
    check_lists(self)
    if isinstance(ord, (bool, complex)):
        raise RuntimeError("foreach_tensor_norm_slow expects ord to be integer or float")
    return [call(item(vector_norm, "ForeachNormBackward0"), [t, ord, None, False, dtype]) for t in self]


listed("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", norms)


def power_sums(self: Any, ord: Any, dtype: Any) -> Any:
    check_lists(self)
    return [(t if dtype is None else t.to(dtype)).abs().pow(ord).sum() for t in self]


listed("_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", power_sums)


def matrix_products(self: Any, mat2: Any) -> Any:
    check_lists(self, mat2)
    op = item(row("mm", "default"), "ForeachMmBackward0")
    return [call(op, [a, b]) for a, b in zip(self, mat2, strict=True)]


listed("_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]",
       one_by_one(matrix_products, lambda: item(row("mm", "default"), "ForeachMmBackward0"), 2))


def clones(self: Any, memory_format: Any) -> Any:
    check_lists(self)
    op = item(row("clone", "default"), "ForeachCloneBackward0")
    return [call(op, [t, memory_format]) for t in self]


listed("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]",
       one_by_one(clones, lambda: item(row("clone", "default"), "ForeachCloneBackward0"), 1))


listed("_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[]",
       lambda self, src, non_blocking: [late.copy_(t.clone(), s, non_blocking) for t, s in zip(self, src, strict=True)],
       "")
in_place("_foreach_copy", "", ", Tensor[] src, bool non_blocking=False", "copy_")


# ---- arithmetic
def with_scalar(name: str, overload: str, node: str, tail: tuple[Any, ...]) -> Any:
    def compute(self: Any, scalar: Any) -> Any:
        check_lists(self)
        check_bools(row(name, overload), self, [scalar])
        return map_each(item(row(name, overload), node), [self, [scalar] * len(self)], tail)
    return one_by_one(compute, lambda: item(row(name, overload), node), 2, tail)


def with_scalars(name: str, overload: str, node: str, tail: tuple[Any, ...]) -> Any:
    def compute(self: Any, scalars: Any) -> Any:
        check_scalars(self, scalars)
        check_bools(row(name, overload), self, scalars)
        return map_each(item(row(name, overload), node), [self, scalars], tail)
    return one_by_one(compute, lambda: item(row(name, overload), node), 2, tail)


def with_list(name: str, overload: str, node: str, check: Any = None) -> Any:
    def compute(self: Any, other: Any, *alpha: Any) -> Any:
        check_lists(self, other)
        return map_each(item(row(name, overload), node, check), [self, other], alpha)
    return one_by_one(compute, lambda: item(row(name, overload), node, check), 2)


def with_tensor(name: str, node: str) -> Any:
    def compute(self: Any, other: Any, *alpha: Any) -> Any:
        check_lists(self)
        return map_each(ITEMS.get(node) or item(row(name, "Tensor"), node), [self, [number_of(other)] * len(self)], alpha)
    return one_by_one(compute, lambda: item(row(name, "Tensor"), node), 2, spreads=True)


for name in ("add", "sub", "mul", "div"):
    full, stem = f"_foreach_{name}", f"Foreach{camel(name)}Backward"
    tail: tuple[Any, ...] = (1,) if name in ("add", "sub") else ()
    alpha = ", *, Scalar alpha=1" if tail else ""
    if name in ("mul", "div"):             # a 0-d tensor is treated as a tensor, not as a number
        listed(f"{full}.Tensor(Tensor[] self, Tensor other) -> Tensor[]", with_tensor(name, stem + "0Tensor"))
        in_place(full, "Tensor", ", Tensor other", name + "_.Tensor", lambda self, other: [number_of(other)] * len(self))
    listed(f"{full}.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", with_scalar(name, "Scalar", stem + "1Scalar", tail))
    listed(f"{full}.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
           with_scalars(name, "Scalar", stem + "1ScalarList", tail))
    listed(f"{full}.List(Tensor[] self, Tensor[] other{alpha}) -> Tensor[]",
           with_list(name, "Tensor", stem + ("0" if name == "div" else "0List")))
    for overload, argument in (("Scalar", "Scalar scalar"), ("ScalarList", "Scalar[] scalars")):
        in_place(full, overload, f", {argument}", name + "_.Tensor", node=f"{camel(name)}Backward1")
    in_place(full, "List", f", Tensor[] other{alpha}", name + "_.Tensor")
    if name == "add":
        listed(f"{full}.Tensor(Tensor[] self, Tensor other{alpha}) -> Tensor[]", with_tensor(name, stem + "0Tensor"))
        in_place(full, "Tensor", f", Tensor other{alpha}", name + "_.Tensor",
                 lambda self, other: [number_of(other)] * len(self))
for name in ("clamp_max", "clamp_min"):
    full, stem = f"_foreach_{name}", f"Foreach{camel(name)}Backward"
    listed(f"{full}.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", with_scalar(name, "default", stem + "0Scalar", ()))
    listed(f"{full}.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
           with_scalars(name, "default", stem + "0ScalarList", ()))
    listed(f"{full}.List(Tensor[] self, Tensor[] other) -> Tensor[]", with_list(name, "Tensor", stem + "1List"))
    in_place(full, "Scalar", ", Scalar scalar", name + "_")
    in_place(full, "ScalarList", ", Scalar[] scalars", name + "_")
    in_place(full, "List", ", Tensor[] other", name + "_.Tensor")
listed("_foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]",
       with_scalar("pow", "Tensor_Scalar", "ForeachPowBackward0Scalar", ()))
listed("_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]",
       with_scalars("pow", "Tensor_Scalar", "ForeachPowBackward1", ()))
listed("_foreach_pow.List(Tensor[] self, Tensor[] exponent) -> "
       "Tensor[]", with_list("pow", "Tensor_Tensor", "ForeachPowBackward0"))
listed("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]",
       lambda self, exponent: [call(item(row("pow", "Scalar"), "ForeachPowBackward2"), [self, t]) for t in exponent])
in_place("_foreach_pow", "Scalar", ", Scalar exponent", "pow_.Scalar")
in_place("_foreach_pow", "ScalarList", ", Scalar[] exponent", "pow_.Scalar")
in_place("_foreach_pow", "List", ", Tensor[] exponent", "pow_.Tensor")


# ---- maximum and minimum of a tensor and a number; their nodes keep all numbers of the list
def extreme_rows(name: str, sign: int) -> tuple[Any, Any]:
    def gradient(grad: Any, self: Any, limit: Any) -> Any:
        beaten = self < limit if sign > 0 else self > limit
        return where(self == limit, grad / 2, grad).masked_fill(beaten, 0)

    def extreme(xp: Any, self: Any, limit: Any) -> Any:
        return getattr(xp, name)(self, number_like(xp, self, limit))

    def scalar_rule(grad: Any, self: Any, scalar: Any) -> Any:
        return gradient(grad, self, scalar)

    def scalars_rule(grad: Any, self: Any, scalars: Any, place: int) -> Any:
        return gradient(grad, self, scalars[place])
    columns: dict[str, Any] = dict(jvp="elementwise", batch=families.pointwise, check=only(
        "clamp is not supported for complex types", "FHIB", error=NotImplementedError))
    stem = f"Foreach{camel(name)}Backward"
    return (OpDef(Schema(f"{name}(Tensor self, Scalar scalar) -> Tensor"), extreme, vjp=dict(self=scalar_rule),
                  node=stem + "0", promote="common", scalars=("scalar",), lower=row(name, "default").lower, **columns),
            OpDef(Schema(f"{name}(Tensor self, Scalar[] scalars, int place) -> Tensor"),
                  lambda xp, self, scalars, place: extreme(xp, self, scalars[place]), vjp=dict(self=scalars_rule),
                  node=stem + "1", **columns))


def extremes(name: str, sign: int) -> None:
    one, many = extreme_rows(name, sign)
    full = f"_foreach_{name}"

    def check_numbers(scalars: Any) -> None:
        if any([isinstance(scalar, complex) for scalar in scalars]):
            raise NotImplementedError("clamp is not supported for complex types")

    def by_list(self: Any, other: Any) -> Any:
        for a, b in zip(self, other, strict=False):
            if b.is_complex() and not a.is_complex():
                raise unsupported(f"{name}_cpu", late.result_type(a, b).numpy)
        return pairs(self, other)

    def by_scalar(self: Any, scalar: Any) -> Any:
        check_lists(self)
        check_numbers([scalar])
        return map_each(one, [self, [scalar] * len(self)], ())

    def by_scalars(self: Any, scalars: Any) -> Any:
        check_scalars(self, scalars)
        check_numbers(scalars)
        if switches.any_mode and not tls.grad_enabled or not any([wants_grad(t) for t in self]):
            return map_each(one, [self, scalars], ())
        return [call(many, [t.to(late.result_type(t, scalars[i])), scalars, i]) for i, t in enumerate(self)]

    single = "clamp_min_" if sign > 0 else "clamp_max_"
    pairs = with_list(name, "default", f"Foreach{camel(name)}Backward0List", takes(f"{name}_cpu", "FHIB"))
    listed(f"{full}.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", one_by_one(by_scalar, lambda: one, 2))
    listed(f"{full}.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", one_by_one(by_scalars, lambda: one, 2, bare=True))
    listed(f"{full}.List(Tensor[] self, Tensor[] other) -> Tensor[]", by_list)
    in_place(full, "Scalar", ", Scalar scalar", single)
    in_place(full, "ScalarList", ", Scalar[] scalars", single)
    limit = "min" if sign > 0 else "max"
    in_place(full, "List", ", Tensor[] other", single + ".Tensor", node=f"{camel(name)}Backward0", vjp={
        "self": halved_at_ties(sign, limit, False), limit: halved_at_ties(sign, limit, True)})


def halved_at_ties(sign: int, limit: str, of_limit: bool) -> Any:
    """The gradient of maximum (`sign` 1) or minimum for one of its operands, `self` or the one called `limit`."""
    def gradient(grad: Any, self: Any, other: Any) -> Any:
        mine, its = (other, self) if of_limit else (self, other)
        return where(self == other, grad / 2, grad).masked_fill(mine < its if sign > 0 else mine > its, 0)
    if limit == "min":
        return lambda grad, self, min: gradient(grad, self, min)
    return lambda grad, self, max: gradient(grad, self, max)


extremes("maximum", 1)
extremes("minimum", -1)


# ---- three tensors
def products(name: str, node: str) -> Any:
    def compute(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
        check_lists(self, tensor1, tensor2)
        return map_each(item(row(name, "default"), node), [self, tensor1, tensor2, values_for(self, value)], ())
    return one_by_one(compute, lambda: item(row(name, "default"), node), 4)


def values_for(self: Any, value: Any) -> Any:
    """A number for each tensor of the list, from one, a list, or a tensor of them."""
    if hasattr(value, "array"):
        if value.ndim != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {value.ndim} instead.")
        if len(value) != len(self):
            raise RuntimeError(f"Expected length of scalars to match input of length {len(self)} but got {len(value)} instead.")
        return value.tolist()
    if isinstance(value, (list, tuple)):
        if len(value) != len(self):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return value
    return [value] * len(self)


for name in ("addcmul", "addcdiv"):
    full, stem = f"_foreach_{name}", f"Foreach{camel(name)}Backward0"
    for overload, argument in (("ScalarList", "Scalar[] scalars"), ("Tensor", "Tensor scalars"), ("Scalar", "Scalar value=1")):
        rest = f", Tensor[] tensor1, Tensor[] tensor2, {argument}"
        listed(f"{full}.{overload}(Tensor[] self{rest}) -> Tensor[]", products(name, stem + overload))
        in_place(full, overload, rest, name + "_", values_for)


def interpolations(overload: str, node: str) -> Any:
    def compute(self: Any, tensors1: Any, weight: Any) -> Any:
        check_lists(self, tensors1, *([weight] if overload == "Tensor" else []))
        return map_each(item(row("lerp", overload), node), [self, tensors1, values_for(self, weight)], ())
    return one_by_one(compute, lambda: item(row("lerp", overload), node), 3)


for overload, argument, base, node in (("Scalar", "Scalar weight", "Scalar", "ForeachLerpBackward0Scalar"),
                                       ("ScalarList", "Scalar[] weight", "Scalar", "ForeachLerpBackward0ScalarList"),
                                       ("List", "Tensor[] weights", "Tensor", "ForeachLerpBackward1List")):
    listed(f"_foreach_lerp.{overload}(Tensor[] self, Tensor[] tensors1, {argument}) -> Tensor[]", interpolations(base, node))
    in_place("_foreach_lerp", overload, f", Tensor[] tensors1, {argument}", f"lerp_.{base}")
