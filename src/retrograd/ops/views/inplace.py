"""In-place view ops: they change a tensor's geometry over the same memory.

NOTE [Changing a tensor's own geometry]
Nothing is written, so the base of a view keeps its history: only the tensor gets a new node on top of its old one, and its
recipe one more step. Still the op counts as a write: the version increases, and leaves that require grad and views whose
history cannot be rewritten are refused; the view keeps its creation flag.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import gradient_mask
from retrograd.core.forward import tangent_of
from retrograd.core.graph import set_history
from retrograd.core.hooks import hooks
from retrograd.core.kernels import compute_arrays
from retrograd.core.opdef import OpDef, defop
from retrograd.core.record import record
from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_DUAL, FLAG_INFERENCE, FLAG_SUBCLASS, FLAG_WRAPPER, Tensor, bump, new_view, wants_grad
from retrograd.core.views import check_inplace
from retrograd.ops.views import shape


def change_geometry(op: OpDef, args: Any, shown: Any = None) -> Any:
    """Run `op`, recording it if needed, and give its first argument the geometry of the result. `shown` is the op that
    dispatch modes and `__torch_dispatch__` see."""
    t = args[0]
    if not t._flags and t._view is None and (not switches.any_mode or not tls.slow_path) and not (
            t._requires and tls.grad_enabled):          # nothing to record, no mode on
        if not op.functional._ready:
            op.functional.prepare()
        native = op.functional.native
        made = None if native is None else native(t.array, *args[1:])
        t.array = compute_arrays(ready(op), args) if made is None else made
        bump(t)
        return t
    if switches.any_mode and tls.transforms:
        hooks.captured(op, t)
    if t._flags & FLAG_WRAPPER:
        return hooks.batched_geometry(t, op.functional, args[1:])
    ready(op)
    tangent = tangent_of(t) if t._flags & FLAG_DUAL else None
    recorded = not tls.below
    mask = gradient_mask(op, args) if recorded and tls.grad_enabled and not tls.inference else 0
    if recorded:
        check_inplace(t, mask != 0 or wants_grad(t))
    handler = handler_of(t) if shown is not None and (switches.any_mode or t._flags & FLAG_SUBCLASS) else None
    array: Any = compute_arrays(op, args) if handler is None else None
    node = record(op, args, mask, False) if mask else None
    before = t.array.shape
    if handler is not None:
        if not shown._ready:
            shown.prepare()
        handler(shown, args)
        array = t.array
    t.array = array
    if not recorded:
        return t
    if tangent is not None:
        change_geometry(op, [tangent, *args[1:]])
    if t._flags & FLAG_INFERENCE:
        return t
    bump(t)
    view = t._view
    # PyTorch drops this step from the recipe of a view with another dtype than its base.
    forgets = view is not None and view.base.array.dtype is not array.dtype and before == array.shape and not tls.view_replay
    if view is not None and not forgets:
        t._view = new_view(view.base, op.functional, args[1:], -1, view, view.creation, view.version)
    if node is not None:
        node._shape_, node._dtype_ = array.shape, array.dtype
        set_history(t, node, 0)          # a retained gradient keeps the geometry at the time of retain_grad
        if view is not None:
            t._view.version = t._counter.n
    return t


def ready(op: OpDef) -> OpDef:
    if not op._ready:
        op.prepare()
    return op


def handler_of(t: Any) -> Any:
    """The function that passes an op on `t` to the active dispatch mode, or to the class of `t` if it overrides dispatch."""
    if tls.slow_path and tls.dispatch_modes:
        return hooks.dispatch_mode if getattr(tls.dispatch_modes[-1], "_process", None) is None else None
    overrides = t._flags & FLAG_SUBCLASS and not tls.dispatch_disabled
    return hooks.dispatch_subclass if overrides and type(t).__torch_dispatch__ is not Tensor.__torch_dispatch__ else None


def refuse_batches(self: Any) -> None:
    if self.array.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.array.ndim}D")


def inplace_view(schema: str, functional: OpDef, node: str, check: Any = None, same: Any = None) -> OpDef:
    """Declare the in-place form of a view op; its nodes are numbered separately from the functional form's. It may be an
    alias of the op `same`."""
    op = OpDef(functional.schema, functional.kernel, vjp=functional.vjp, jvp=functional.jvp, batch=functional.batch,
               node=node, functional=functional, check=check)
    shown: list[Any] = [] if same is None else [same]
    made = defop(schema, kernel=lambda self, *rest: change_geometry(op, [self, *rest], shown[0]), composite=True,
                 variants="method", out=False, traits=("inplace_view",))
    shown.append(made)
    return made


inplace_view("as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)",
             shape.as_strided, "AsStridedBackward1").variants = "function, method"
inplace_view("t_(Tensor(a!) self) -> Tensor(a!)", shape.t, "TBackward1", refuse_batches)
transpose_ = inplace_view("transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", shape.transpose,
                          "TransposeBackward1")
inplace_view("swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", shape.transpose, "TransposeBackward1",
             same=transpose_)
inplace_view("swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", shape.transpose, "TransposeBackward1",
             same=transpose_)
inplace_view("squeeze_(Tensor(a!) self) -> Tensor(a!)", shape.squeeze, "SqueezeBackward3")
inplace_view("squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)", shape.squeeze_dim, "SqueezeBackward4")
inplace_view("squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)", shape.squeeze_dims, "SqueezeBackward5")
inplace_view("unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", shape.unsqueeze, "UnsqueezeBackward1")
