"""Lifted tensors: the wrappers that differentiating transforms put around tensors of the level below.

NOTE [Levels of differentiation]
Every active `grad`, `vjp` and `jvp` is a level of the stack of transforms (see base.py). Inside it all results of ops are
lifted: wrappers with the geometry of the tensor of the level below which they hold (`value`), and with derivatives of their
own level. In reverse mode these are the wrapper's node in a graph of wrappers; in forward mode the `tangent`. A rule at one
level computes with ops of the level below, so levels nest in any order, with
vmap too, and derivatives of one level never mix with another's: a tensor of an outer level is a constant to this one.
Grad mode belongs to a level: the no_grad of this level's backward must not silence the level below.
The `array` of a lifted tensor only gives its geometry; it is write-protected.
"""
from __future__ import annotations

import math
from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef
from retrograd.core.state import tls
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_SPARSE, FLAG_WRAPPER, Extra, Tensor, bump, counter_of, new_tensor
from retrograd.ops import late
from retrograd.transforms import batching
from retrograd.transforms.base import Transform, only_outer
from retrograd.transforms.batching import CARRIED


class Lifted:
    """The state of a lifted tensor."""

    __slots__ = ("captured", "owner", "parent", "source", "tangent", "value")

    def __init__(self, value: Any, owner: Any, tangent: Any = None, parent: Any = None, source: Any = None) -> None:
        self.value = value
        self.owner = owner
        self.tangent = tangent        # in forward mode: of the level below, None if there is none
        self.parent = parent          # of a view in forward mode: (its source, op, arguments, result number)
        self.source = source          # of a view: the parent's tangent that its tangent is a view of
        self.captured: Any = False    # a view of a tensor of the level below


def lift(value: Any, owner: Any, tangent: Any = None, parent: Any = None, source: Any = None) -> Any:
    """A tensor of the level `owner` that wraps `value`, of the level below."""
    array = value.array.view()
    array.flags.writeable = False
    t = new_tensor(array)
    # This level records even if the level below is in inference mode.
    t._flags = FLAG_WRAPPER | value._flags & (CARRIED & ~FLAG_INFERENCE | FLAG_SPARSE)
    extra = t._extra = Extra()
    extra.batch = Lifted(value, owner, tangent, parent, source)
    if value._flags & FLAG_SPARSE:
        extra.sparse = value._extra.sparse
    return t


def is_lifted(t: Any) -> bool:
    return isinstance(t, Tensor) and bool(t._flags & FLAG_WRAPPER) and isinstance(t._extra.batch, Lifted)


class Level(Transform):
    """A transform whose tensors are lifted; it applies to every op."""

    alive: bool = False               # it is running

    def run(self, op: OpDef, args: Any) -> Any:
        if op.is_inplace:
            self.check_captured(op, args[:1])
        if op.is_view and self.views_captured(op, args):
            return self.mark_captured(self.run_lifted(op, args))
        return self.run_lifted(op, args)

    def run_lifted(self, op: OpDef, args: Any) -> Any:
        """Run an op that writes to no tensor of the level below."""
        raise NotImplementedError

    def owns(self, t: Any) -> bool:
        return isinstance(t, Tensor) and bool(t._flags & FLAG_WRAPPER) and t._extra.batch.owner is self

    def unwrap(self, t: Any) -> Any:
        """The wrapped tensor of the level below; values that are not of this level are returned unchanged."""
        return unwrapped(self, t)

    def unwrap_arguments(self, op: OpDef, args: Any) -> list[Any]:
        return unwrapped_arguments(self, op, args)

    def check_captured(self, op: OpDef, targets: Any) -> None:
        """Refuse a write to a tensor of the level below: it would be visible outside, without its derivatives."""
        for t in targets:
            if not self.owns(t) or t._extra.batch.captured:
                # in-place view ops are named after their functional form
                name = op.name if op.name.endswith("_") or op.overload.endswith("out") else f"{op.name}_"
                overload = "" if op.overload == "default" else f".{op.overload}"
                raise RuntimeError("During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
                                   f"in-place operation (aten::{name}{overload}) that would mutate a captured Tensor. This "
                                   "is not supported; please rewrite the function being transformed to explicitly accept the "
                                   "mutated Tensor(s) as inputs.")

    def views_captured(self, op: OpDef, args: Any) -> bool:
        """Whether the results of a view op are views of a tensor of the level below."""
        source = args[0]
        if not isinstance(source, Tensor):
            return False
        return source._extra.batch.captured if self.owns(source) else True

    def mark_captured(self, result: Any) -> Any:
        """Mark the results of a view op as aliases of a tensor from outside, which must not be written."""
        for t in result if isinstance(result, (list, tuple)) else (result,):
            if self.owns(t):
                t._extra.batch.captured = True
        return result

    def detach(self, t: Any) -> Any:
        """The same value at this level without derivatives."""
        return lift(hooks.detach(t._extra.batch.value), self)

    def replace(self, t: Any, value: Any) -> None:
        """Replace the wrapped value of `t`."""
        made = lift(value, self)
        t._extra, t.array = made._extra, made.array

    def describe(self, value: Any, level: int) -> str:
        """The printed form of a tensor of this level that wraps `value`."""
        inner = repr(value).replace("\n", "\n    ")
        return f"GradTrackingTensor(lvl={level}, value=\n    {inner}\n)"

    def beneath(self) -> Any:
        """A context in which the level below is active; this one must be the innermost."""
        return only_outer(len(tls.transforms) - 1)

    def lower(self, op: OpDef, args: Any) -> Any:
        """Run the op on the level below and lift its results."""
        values = self.unwrap_arguments(op, args)
        with self.beneath():
            result = call(op, values)
        if op.is_inplace:
            return args[0]
        if op.is_out:
            outs = args[op.out_arg:]
            return type(result)(outs) if op.functional.multiple and not hasattr(result, "_fields") else (
                type(result)(*outs) if op.functional.multiple else outs[0])
        if not op.multiple:
            if op.is_view and result is values[0]:
                return args[0]
            return lift(result, self) if isinstance(result, Tensor) else result
        made = [lift(r, self) if isinstance(r, Tensor) else r for r in result]
        return made if op.returns_list else op.result_type(*made) if op.result_type else tuple(made)


# Functions rather than methods: every op calls them, and the compiled ones are typed.
def unwrapped(level: Any, value: Any) -> Any:
    """See `Level.unwrap`."""
    while isinstance(value, Tensor):
        t = value
        if not t._flags & FLAG_WRAPPER:
            break
        held = t._extra.batch
        if not isinstance(held, Lifted) or held.owner is not level and held.owner.alive:
            break
        value = held.value
    return value


def unwrapped_arguments(level: Any, op: Any, args: Any) -> list[Any]:
    """The arguments with their tensors unwrapped."""
    values = list(args)
    for i in op.tensor_args:
        value = values[i]
        if isinstance(value, Tensor):
            values[i] = unwrapped(level, value)
        elif isinstance(value, (list, tuple)):
            values[i] = [unwrapped(level, t) for t in value]
    return values


class living:
    """Scope in which the level is alive; after it, its tensors unwrap to their values."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def __enter__(self) -> Level:
        self.was, self.level.alive = self.level.alive, True
        return self.level

    def __exit__(self, *error: Any) -> None:
        self.level.alive = self.was


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The value wrapped by a tensor inside a transform, for debuggers only.

    >>> import retrograd as torch
    >>> torch.vmap(lambda x: print(debug_unwrap(x)) or x)(torch.ones(2))
    tensor([1., 1.])
    tensor([1., 1.])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"debug_unwrap(): Expected a Tensor, got {type(tensor)}")
    while tensor._flags & FLAG_WRAPPER:
        tensor = tensor._extra.batch.value
        if not recurse:
            break
    return tensor


# ---- services other than ops, and ops that no transform handled
def escaped(op: OpDef, args: Any) -> Any:
    """Run an op on wrappers below autograd: a call down from a level, or tensors whose level has ended."""
    if tls.transforms and isinstance(tls.transforms[-1], Level):
        return tls.transforms[-1].lower(op, args)
    values = LOST.unwrap_arguments(op, args)
    if all([a is b or isinstance(a, list) for a, b in zip(values, args, strict=True)]):
        return refuse_escaped(op, args)
    result = call(op, values)
    return args[0] if op.is_inplace else result


LOST = Level()                # owns no tensor; unwraps tensors of ended levels
refuse_escaped = hooks.escaped


def value_of(t: Any) -> Any:
    return t._extra.batch.value


def describe(t: Any) -> str:
    """The printed form of a lifted tensor."""
    owner = t._extra.batch.owner
    return owner.describe(value_of(t), owner.level if owner.alive else -2)


def detach(t: Any) -> Any:
    """The same value at the same level without derivatives of that level."""
    return t._extra.batch.owner.detach(t)


def item(t: Any, what: str = "item") -> Any:
    """A number is the same at all levels."""
    value = value_of(t)
    return value.item() if what == "item" else bool(value)


def refuse_numpy(t: Any) -> Any:
    if tls.grad_enabled and t.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return batching.refuse_data(t)


def check_captured(op: OpDef, t: Any) -> None:
    """`Level.check_captured` for an in-place view op."""
    if isinstance(tls.transforms[-1], Level):
        tls.transforms[-1].check_captured(op, [t])


def change_geometry(t: Any, op: OpDef, args: Any) -> Any:
    """Run an in-place view op such as `unsqueeze_`: the wrapper takes the state of the view."""
    # keep the old state in another tensor: the view refers to that one, not to itself
    was_view = t._view is not None
    before = new_tensor(t.array)
    before._flags, before._extra, before._counter = t._flags, t._extra, counter_of(t)
    before._node, before._nr, before._requires, before._view = t._node, t._nr, t._requires, t._view
    made = call(op, [before, *args])
    t._extra = made._extra        # replace the object, not its fields: saved tensors share it
    t.array, t._flags = made.array, made._flags
    t._node, t._nr, t._requires, t._view, t._counter = made._node, made._nr, made._requires, made._view, made._counter
    bump(t)
    if not was_view:
        t._view = None
    elif t._view is not None:
        t._view.version = t._counter.n
    change_values(before, t)
    return t


def change_values(before: Any, t: Any) -> None:
    """Let the values of the levels below look like tensors whose own geometry was changed: written once, views only where they
    were."""
    while is_lifted(t):
        held, old = t._extra.batch, before._extra.batch
        if old.tangent is not None:
            settle_geometry(old.tangent, held.tangent)
        before, t = old.value, held.value
        settle_geometry(before, t)


def settle_geometry(before: Any, t: Any) -> None:
    if t is before or not isinstance(t, Tensor) or t._counter is None or t._flags & FLAG_INFERENCE:
        return
    bump(t)
    if before._view is None:
        t._view = None
    elif t._view is not None:
        t._view.version = t._counter.n


def resize(t: Any, size: Any) -> Any:
    """`resize_` of any wrapper: elements keep their order, new ones are zero."""
    held = t._extra.batch
    if isinstance(held, Lifted) and held.tangent is not None:
        raise RuntimeError("cannot resize variables that has a forward grad")
    count = math.prod(size)
    flat = t.reshape(-1)
    if count > flat.array.size:
        flat = late.cat([flat, flat.new_zeros(count - flat.array.size)])
    made = flat[:count].clone().reshape(size)
    if isinstance(held, Lifted):
        held.owner.replace(t, held.owner.unwrap(made))
    else:
        t._extra, t.array = made._extra, made.array
    bump(t)
    return t


def new_like(t: Any, shape: Any, strides: Any) -> Any:
    held = t._extra.batch
    if not tls.transforms or tls.transforms[-1] is not held.owner or not held.value._flags & FLAG_WRAPPER:
        return t.new_empty_strided(shape, strides)
    with held.owner.beneath():
        made = hooks.batched_new(held.value, shape, strides)
    return lift(made, held.owner)


def zeros_in_layout(t: Any, like: Any) -> Any:
    return late.zeros_like(like)


def make_dual(make: Any, t: Any, tangent: Any) -> Any:
    held = t._extra.batch
    return lift(make(held.value, held.owner.unwrap(tangent)), held.owner)


def unpack_dual(unpack: Any, t: Any) -> tuple[Any, Any]:
    held = t._extra.batch
    primal, tangent = unpack(held.value)
    return lift(primal, held.owner), None if tangent is None else lift(tangent, held.owner)


def either(on_batched: Any, on_lifted: Any, place: int = 0) -> Any:
    """A function that handles both kinds of wrappers; its argument at `place` is the wrapper."""
    def choose(*args: Any) -> Any:
        return (on_lifted if isinstance(args[place]._extra.batch, Lifted) else on_batched)(*args)
    return choose


hooks.batched_data = either(hooks.batched_data, refuse_numpy)
hooks.batched_detach = either(hooks.batched_detach, detach)
hooks.batched_dual = either(hooks.batched_dual, make_dual, 1)
hooks.batched_geometry = either(hooks.batched_geometry, change_geometry)
hooks.batched_get_data = either(hooks.batched_get_data, detach)
hooks.batched_item = either(hooks.batched_item, item)
hooks.batched_list = either(hooks.batched_data, lambda t: value_of(t).tolist())
hooks.batched_new = either(hooks.batched_new, new_like)
hooks.batched_resize = resize
hooks.batched_repr = either(hooks.batched_repr, describe)
hooks.batched_undual = either(hooks.batched_undual, unpack_dual, 1)
hooks.batched_zeros = either(hooks.batched_zeros, zeros_in_layout)
hooks.captured = check_captured
hooks.escaped = escaped


def gathered(args: Any, places: Any, of: Any) -> Any:
    """`of` applied to the tensors at `places`, lists item by item, in a list as long as `args`; None if all are None."""
    found: Any = None
    for i in places:
        value = args[i]
        one: Any = None
        if isinstance(value, Tensor):
            one = of(value)
        elif isinstance(value, (list, tuple)):
            one = [of(item) for item in value]
            if all([item is None for item in one]):
                one = None
        if one is not None:
            if found is None:
                found = [None] * len(args)
            found[i] = one
    return found
