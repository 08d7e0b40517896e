"""The forward-mode level: every op runs on values and, by its `jvp` column, on their tangents."""
from __future__ import annotations

from typing import Any

from retrograd.core import forward
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.hooks import hooks
from retrograd.core.opdef import NOT_IMPLEMENTED, OpDef
from retrograd.core.state import tls
from retrograd.core.storage import strides_of
from retrograd.core.tensor import FLAG_CONJ, FLAG_NEG, FLAG_WRAPPER, Tensor, bump
from retrograd.core.views import view_by
from retrograd.ops import late
from retrograd.transforms import functions
from retrograd.transforms.base import only_outer
from retrograd.transforms.batching import Batch
from retrograd.transforms.lifted import Level, Lifted, gathered, lift
from retrograd.transforms.trees import flatten, unflatten


class Jvp(Level):
    """Carries a tangent with every value that depends on the inputs."""

    is_forward = True

    def run_lifted(self, op: OpDef, args: Any) -> Any:
        tangents = None
        if tls.fwd_grad_enabled:
            tangents = self.tangents_among(args, op.inputs if op.differentiable and not op.is_out else op.tensor_args)
        values = self.unwrap_arguments(op, args)
        if op.is_out:
            return self.run_out(op, args, values, tangents)
        if op.is_inplace:
            return self.run_inplace(op, args, values, tangents)
        result = call(op, values)
        if tangents is None or not op.differentiable:
            return self.lift_results(op, args, result, None)
        check_formula(op)
        return self.lift_results(op, args, result, forward.tangents_of(op, values, tangents, result))

    # ---- tangents
    def tangent_of(self, t: Any) -> Any:
        """The tangent of `t` at this level, None if it has none."""
        return own_tangent(t._extra.batch) if self.owns(t) else None

    def tangents_among(self, args: Any, places: Any) -> Any:
        """The tangents of the arguments at `places`, in a list as long as `args`; None if there are none."""
        return gathered(args, places, self.tangent_of)

    def lift_results(self, op: OpDef, args: Any, result: Any, tangents: Any) -> Any:
        if not op.multiple:
            return self.lift_result(op, args, result, tangents, -1)
        tangents = [None] * len(result) if tangents is None else tangents
        made = [self.lift_result(op, args, r, t, i) for i, (r, t) in enumerate(zip(result, tangents, strict=True))]
        return made if op.returns_list else op.result_type(*made) if op.result_type else tuple(made)

    def lift_result(self, op: OpDef, args: Any, result: Any, tangent: Any, nr: int) -> Any:
        if not isinstance(result, Tensor):
            return result
        if op.is_view and op.differentiable and self.owns(args[0]):
            if result is args[0]._extra.batch.value:
                return args[0]
            held = args[0]._extra.batch
            return lift(result, self, tangent, (held, op, args[1:], nr), None if tangent is None else own_tangent(held))
        if tangent is not None and BY_NUMPY[result.array.dtype].category < 2:
            tangent = None
        if tangent is not None and not op.is_view:
            tangent = in_layout(tangent, result)
        return lift(result, self, tangent)

    # ---- writes
    def run_inplace(self, op: OpDef, args: Any, values: Any, tangents: Any) -> Any:
        """Write the value and the tangent in place, so that views of both stay consistent."""
        target = args[0]
        held = target._extra.batch
        if tangents is None or not op.differentiable:
            call(op, values)
            if tangents is not None and tangents[0] is not None:      # the op is not differentiable: zero derivative
                tangents[0].zero_()
        elif op.jvp == "linear":
            check_formula(op)
            made = demanded(held, flat(values) + flat(tangents))
            call(op, values)
            call(op, [made, *forward.substituted(op, values, tangents)[1:]])
        else:
            check_formula(op)
            before = values[0].clone()
            old = [before if value is values[0] else value for value in values]
            made = demanded(held, flat(values) + flat(tangents))
            tangents[0] = None if tangents[0] is None else made.clone()       # a copy: the level below may save it
            call(op, values)
            functional = op.functional or op
            if not functional._ready:
                functional.prepare()
            new = forward.tangents_of(functional, old, tangents, values[0])
            made.copy_(new.expand(made.array.shape) if new.array.shape != made.array.shape else new)
        bump(target)
        return target

    def run_out(self, op: OpDef, args: Any, values: Any, tangents: Any) -> Any:
        if tangents is not None:
            forward.refuse_out(op, values, call)
        result = call(op, values)
        outs = args[op.out_arg:]
        return op.functional.result_type(*outs) if op.functional.result_type else outs[0] if isinstance(result, Tensor) else (
            tuple(outs))

    # ---- custom Functions
    def apply_function(self, cls: Any, args: Any) -> Any:
        """Run a custom Function and its `jvp` on the level below."""
        leaves, spec = flatten(args)
        values = [self.unwrap(leaf) for leaf in leaves]
        tangents = [self.tangent_of(leaf) if tls.fwd_grad_enabled else None for leaf in leaves]
        with only_outer(len(tls.transforms) - 1):
            output = functions.apply_anywhere(cls, unflatten(values, spec))
            outputs, out_spec = flatten(output)
            made: Any = [None] * len(outputs)
            ctx = TangentCtx(len(args))
            if any([t is not None for t in tangents]):
                cls.setup_context(ctx, unflatten(values, spec), output)
                full = [forward.zeros_of(v) if t is None and isinstance(v, Tensor) and v.dtype.category >= 2
                        and ctx.materialize_grads else t for v, t in zip(values, tangents, strict=True)]
                got = cls.jvp(ctx, *full)
                made = list(got) if isinstance(got, (tuple, list)) else [got]
            same = {id(value): leaf for value, leaf in zip(values, leaves, strict=True) if isinstance(value, Tensor)}
            for i, (out, t) in enumerate(zip(outputs, made, strict=True)):
                leaf = same.get(id(out))
                if leaf is not None and t is not None and id(out) in ctx.dirty and self.owns(leaf):
                    own = demanded(leaf._extra.batch, flat(values) + flat(tangents))
                    if t is not own:
                        own.copy_(t)
                    made[i] = None
            outs = [same[id(out)] if id(out) in same and t is None else lift(out, self, t) if isinstance(out, Tensor) else out
                    for out, t in zip(outputs, made, strict=True)]
        return unflatten(outs, out_spec)


class TangentCtx:
    """The ctx of a custom Function's `jvp`. Its fields are PyTorch's, so that all other names are the user's."""

    def __init__(self, count: int) -> None:
        self.needs_input_grad = (False,) * count
        self.saved_for_forward: tuple[Any, ...] = ()
        self.to_save: tuple[Any, ...] = ()
        self.materialize_grads = True
        self.dirty: set[int] = set()

    def save_for_forward(self, *tensors: Any) -> None:
        self.saved_for_forward = tensors

    def save_for_backward(self, *tensors: Any) -> None:
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self.saved_for_forward

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    def mark_dirty(self, *tensors: Any) -> None:
        """Note the tensors whose tangents the `jvp` overwrites; the level below has handled the write."""
        self.dirty = {id(t) for t in tensors}

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """No-op: these outputs have no tangent."""


def check_formula(op: OpDef) -> None:
    if op.jvp is None or op.vjp == NOT_IMPLEMENTED:
        raise forward.no_forward_mode(op)


def own_tangent(held: Lifted) -> Any:
    """The tangent of a lifted tensor; for a view, the same view of its base's current tangent."""
    if held.parent is None:
        return held.tangent
    parent, op, args, output = held.parent
    base = own_tangent(parent)
    if base is not held.source:
        held.source = base
        held.tangent = None if base is None else view_by(op, args, output, base)
    return held.tangent


def demanded(held: Lifted, others: list[Any]) -> Any:
    """The tangent needed by a write, created as zeros on the base of a view so that all its views have it. It is batched
    wherever `others`, which will be written to it, are.
    """
    root = held
    while root.parent is not None:
        root = root.parent[0]
    if root.tangent is None:
        root.tangent = late.zeros_like(root.value)
    known = batched_by(root.tangent)
    for t in others:
        if isinstance(t, Tensor) and not batched_by(t) <= known:
            wider = root.tangent + t.new_zeros((), dtype=root.tangent.dtype)
            root.tangent = in_layout(wider, root.value)
            known = batched_by(root.tangent)
    return own_tangent(held)


def batched_by(t: Any) -> set[Any]:
    """The vmap levels at which a tensor is batched."""
    found = set()
    while t._flags & FLAG_WRAPPER:
        held = t._extra.batch
        if type(held) is Batch:
            found.add(held.owner)
        t = held.value
    return found


def flat(values: Any) -> list[Any]:
    """The items of a list of arguments, those in lists included."""
    return [item for value in values for item in (value if isinstance(value, (list, tuple)) else (value,))]


def has_examples(t: Any) -> bool:
    """Whether a tensor is batched by vmap."""
    return bool(t._flags & FLAG_WRAPPER) and getattr(t._extra.batch, "dim", None) is not None


def in_layout(tangent: Any, value: Any) -> Any:
    """The tangent with the shape and strides of its value, so that every view of one is possible on the other."""
    shape = value.array.shape
    if tangent.array.shape != shape:
        tangent = tangent.expand(shape)
    strides = strides_of(value.array)
    lazy = tangent._flags & ~value._flags & (FLAG_CONJ | FLAG_NEG)
    if lazy and (tangent._flags | value._flags) & FLAG_WRAPPER and not (has_examples(tangent) and has_examples(value)):
        tangent = tangent.resolve_conj().resolve_neg()
        lazy = 0
    if lazy or strides_of(tangent.array) != strides:
        tangent = hooks.copy_to_layout(tangent, shape, strides)
    return tangent
