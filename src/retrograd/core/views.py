"""Views and in-place writes: which tensors share memory, and how a write through one affects the others.

NOTE [Views]
A view is (base, recipe, creation): the root tensor whose memory it shares, the view ops from the base to it, and the
context in which it was made. An in-place write bumps the version that base and views share and, when a gradient is
wanted, rewrites the history of the *base*: its node becomes a CopySlices, which wraps the writing op. Views are updated
lazily: when the node of a view is read and the version has changed since it was made, a new one is derived from the base's
(`refresh`). Writes through views whose history cannot be rewritten (made under no_grad, by a multi-output function, in a
custom Function, in inference mode) are errors.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrograd.core.graph import Node, NodeHooks, edge_of, forward_name, name_of, set_history
from retrograd.core.opdef import OpDef
from retrograd.core.origin import remember
from retrograd.core.saved import FREED
from retrograd.core.state import grad_enabled, inference, set_grad_enabled, slow_path, switches, tls
from retrograd.core.storage import empty_strided, offset_of, strided, strides_of
from retrograd.core.tensor import (
    FLAG_DUAL,
    FLAG_INFERENCE,
    FLAG_SPARSE,
    FLAG_WRITABLE,
    Tensor,
    counter_of,
    extra_of,
    new_tensor,
    new_view,
    wants_grad,
)

if TYPE_CHECKING:
    from retrograd.core.tensor import View

DEFAULT, IN_CUSTOM_FUNCTION, MULTI_OUTPUT_NODE, NO_GRAD_MODE, INFERENCE_MODE = range(5)

LONGEST = 64              # number of chained views from which recipes are shortened
NEVER = -(1 << 30)
WRITES = 2                # the version of a CopySlices' gradient: the incoming one is copied, then its part is written

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
INFERENCE_WRITE = ("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get "
                   "a normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more "
                   "details.")


def mark_view(op: OpDef | None, args: Sequence[Any] | None, source: Tensor, view: Tensor, creation: int = DEFAULT,
              output: int = -1) -> None:
    """Mark `view` as made from `source` by `op` with `args` (those after the tensor), as result number `output`."""
    counter = source._counter
    if counter is None:
        counter = counter_of(source)
    view._counter = counter
    if creation == DEFAULT and switches.any_mode and not grad_enabled():
        creation = INFERENCE_MODE if inference() else NO_GRAD_MODE
    parent = source._view
    if parent is None:
        view._view = new_view(source, op, args, output, None, creation, counter.n)
    else:
        if parent.depth >= LONGEST:
            parent = shorten(source)
        view._view = new_view(parent.base, op, args, output, parent, creation if creation != DEFAULT else parent.creation,
                              counter.n)


class Window:
    """A chain of view ops merged into one: the resulting geometry on the base's memory."""

    __slots__ = ("offset", "size", "stride")

    def __init__(self, t: Tensor, base: Tensor) -> None:
        self.size, self.stride = t.array.shape, strides_of(t.array)
        self.offset = 0 if 0 in self.size else offset_of(t.array) - offset_of(base.array)

    def __call__(self, t: Any) -> Any:
        return t.as_strided(self.size, self.stride, self.offset + t.storage_offset())


def shorten(t: Tensor) -> View:
    """Merge the recipe of view `t` into one step where strides can express it, so that chains of views do not keep all
    their predecessors."""
    view = t._view
    base = view.base
    if t._flags or base._flags or t.array.dtype is not base.array.dtype:
        return view
    step = view
    while step is not None:
        if step.args is None and type(step.op) is not Window:
            view.depth = NEVER                # a custom Function, or a forward-mode boundary
            return view
        step = step.parent
    return new_view(base, Window(t, base), None, -1, None, view.creation, view.version)


# ---- reading a view's node
def refresh(t: Tensor) -> None:
    """Update the node of view `t` after the last write to its base."""
    view = t._view
    counter = t._counter
    if view.version == counter.n:
        return
    base = view.base
    if t._node is None and not base._requires:
        return
    if view.creation != DEFAULT:
        raise RuntimeError(creation_error(t, view.creation, write=False, indirect=True))
    retained = take_retained(t)
    node = regenerate(t, base)
    t._node, t._nr, t._requires = node, 0, True
    view.version = counter.n
    if retained:
        give_retained(t, retained)


def regenerate(t: Tensor, base: Tensor) -> Node:
    """A node that leads from view `t` to the current history of its base."""
    if base._flags & FLAG_SPARSE:                # of the values of a sparse tensor
        return replayer.as_strided_node(t, base)
    if tls.view_replay or t.array.dtype is not base.array.dtype or (t._flags | base._flags) & ~FLAG_DUAL or (
            reinterprets(t._view)):
        was = set_grad_enabled(True)
        try:
            return (replay if tls.view_replay else replay_strided)(t._view, base)._node
        finally:
            set_grad_enabled(was)
    return replayer.as_strided_node(t, base)


def reinterprets(view: View | None) -> bool:
    """Whether a step of the recipe is more than strides: pairs as complex numbers, conjugation, negation."""
    while view is not None:
        if isinstance(view.op, OpDef) and (view.op.flips or "pairs" in view.op.traits):
            return True
        view = view.parent
    return False


class Replayer:
    """The functions that views need from dispatch, which installs them, so that this module does not import it."""

    as_strided: Any = None        # the op

    def call(self, op: OpDef, args: Any) -> Any:
        raise NotImplementedError

    def as_strided_node(self, t: Tensor, base: Any) -> Any:
        raise NotImplementedError

    def contiguous_clone(self, t: Tensor) -> Any:
        raise NotImplementedError

    def backward_copy(self, grad: Any, like_shape: Any, like_strides: Any) -> Any:
        raise NotImplementedError


replayer = Replayer()


def replay(view: View | None, base: Tensor) -> Tensor:
    """Apply the recipe of `view` to another base."""
    steps = []
    while view is not None:
        steps.append(view)
        view = view.parent
    t = base
    for step in reversed(steps):
        t = apply_step(step, t)
    return t


def altered(view: Any, on_size: Any, on_tensor: Any) -> Any:
    """The recipe with its sizes and indices (SymInt in schemas) and tensors passed through functions, where given."""
    if view is None or on_size is None and on_tensor is None:
        return view
    args = view.args
    if args is not None:
        params = view.op.schema.params[1:]
        args = tuple([alter(value, param, view.op.schema.text, on_size, on_tensor)
                      for value, param in zip(args, params, strict=False)])
    parent = altered(view.parent, on_size, on_tensor)
    return new_view(view.base, view.op, args, view.output, parent, view.creation, view.version)


def alter(value: Any, param: Any, text: str, on_size: Any, on_tensor: Any) -> Any:
    if isinstance(value, Tensor):
        return value if on_tensor is None else on_tensor(value)
    if on_size is None or value is None or not re.search(rf"SymInt[^ ]* {param.name}\b", text):
        return value
    return [on_size(n) for n in value] if isinstance(value, (list, tuple)) else on_size(value)


def replay_strided(view: View | None, base: Tensor) -> Tensor:
    """`replay` with as_strided in place of all steps that strides can express."""
    steps = []
    while view is not None:
        steps.append(view)
        view = view.parent
    t, before = base, None
    for step in reversed(steps):
        if step.args is None or step.op.flips or "pairs" in step.op.traits:
            t = apply_step(step, t if before is None else strided_like(t, before))
            before = None
            continue
        was = set_grad_enabled(False)
        try:
            made = apply_step(step, t if before is None else before)
        finally:
            set_grad_enabled(was)
        if t is base:
            before = made         # the steps before the first inexpressible one are merged
        else:
            t = strided_like(t, made)
    return t if before is None else strided_like(t, before)


def strided_like(t: Tensor, view: Any) -> Any:
    array = view.array
    return replayer.call(replayer.as_strided, [t, array.shape, strides_of(array), offset_of(array)])


def apply_step(step: View, t: Tensor) -> Tensor:
    """Apply the view `step` to `t`."""
    return view_by(step.op, step.args, step.output, t)


def view_by(op: OpDef, args: tuple[Any, ...], output: int, t: Tensor) -> Tensor:
    """The view of `t` that `op` makes."""
    if args is None:
        return op(t)
    made = replayer.call(op, [t, *args])
    return made if output < 0 else made[output]


# ---- writing in place
def check_inplace(t: Tensor, wanted: bool) -> None:
    """Refuse an in-place write to `t` that autograd cannot record; `wanted`: the result requires grad."""
    if t._flags & FLAG_INFERENCE and not t._flags & FLAG_WRITABLE and not inference():
        raise RuntimeError(INFERENCE_WRITE)
    if not wanted or not grad_enabled():
        return
    view = t._view
    if view is not None:
        if view.creation != DEFAULT:
            raise RuntimeError(creation_error(t, view.creation, write=True, indirect=False))
        if view.base._node is None and wants_grad(t):     # the base is a leaf, or a view of it was made one
            raise RuntimeError(VIEW_OF_LEAF)
    if wants_grad(t) and t._node is None:
        raise RuntimeError(LEAF)


def creation_error(t: Tensor, creation: int, write: bool, indirect: bool) -> str:
    """The error text for a refused write through a view, or for reading its outdated history."""
    modified = ("is being modified inplace" if write
                else "its base or another view of its base has been modified inplace")
    node = t._node
    name = "" if node is None else name_of(node)
    prefix = f"Output {t._nr} of {name} is a view and {modified}. " if node is not None else ""
    if creation == MULTI_OUTPUT_NODE:
        prefix = prefix or f"A view was created in no_grad mode and {modified} with grad mode enabled. "
        return prefix + ("This view is the output of a function that returns multiple views. Such functions do not allow "
                         "the output views to be modified inplace. You should replace the inplace operation by an "
                         "out-of-place one.")
    if creation == NO_GRAD_MODE or creation == INFERENCE_MODE:
        mode, scope, then = (("no_grad mode", "no_grad", "with grad mode enabled") if creation == NO_GRAD_MODE
                             else ("inference mode", "inference_mode", "in normal mode"))
        prefix = "A view was" if node is None else f"Output {t._nr} of {name} is a view of a view which was"
        return (f"{prefix} created in {mode} and {modified} {then}. "
                "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
                f"code by moving both the view and the inplace either both inside the {scope} block (if you "
                "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).")
    prefix = prefix or f"A view was created inside a custom Function and {modified}. "
    return prefix + ("This view was created inside a custom Function (or because an input was returned as-is) and the "
                     "autograd logic to handle view+inplace would override the custom backward associated with the "
                     "custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by "
                     "cloning the output of the custom Function.")


def rebase(t: Tensor, node: Node) -> None:
    """Set `node`, recorded by an in-place op on `t`, as the history of `t`."""
    view = t._view
    if view is None:
        retained = take_retained(t)
        set_history(t, node, 0)
        if retained:
            give_retained(t, retained)
        return
    base = view.base
    outer = CopySlices(t, base, node)
    if switches.any_mode and tls.origins:
        remember(outer, forward_name(node))
    retained = take_retained(base)
    set_history(base, outer, 0)
    if retained:
        give_retained(base, retained)
    refresh(t)


class CopySlices(Node):
    """The node of a base that was written through a view: gradients of the written part go through the inner node, the rest
    pass."""

    __slots__ = ("inner", "place", "strides", "view")

    def __init__(self, t: Tensor, base: Tensor, inner: Node) -> None:
        Node.__init__(self)
        array = base.array
        self._shape_, self._dtype_ = array.shape, array.dtype
        self.strides = strides_of(array)
        self.inner: Any = inner
        # the geometry of the written part in the base; a recipe where strides cannot express it
        if not base._flags & FLAG_SPARSE and (
                tls.view_replay or t.array.dtype is not array.dtype or (t._flags | base._flags) & ~FLAG_DUAL):
            self.place: Any = None
            self.view = t._view
        else:
            # offsets within the storages, which differ if `.data` of one of them was replaced
            self.place = (t.array.shape, strides_of(t.array), offset_of(t.array) - offset_of(array))
            self.view = None
        producer = edge_of(base)
        self._next_ = (producer, *inner._next_[1:])
        self._leaves_ = inner._leaves_
        nrs = inner._nrs_
        if base._nr and producer is not None or nrs is not None:
            others = nrs[1:] if nrs is not None else [0] * (len(inner._next_) - 1)
            self._nrs_ = [base._nr if producer is not None else 0, *others]

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def _run_(self, grads: Sequence[Any], needed: Sequence[Any] | None) -> list[Any]:
        grad = grads[0]
        results: list[Any] = [None] * len(self._next_)
        if grad is None:
            return results
        if self.inner is None:
            raise RuntimeError(FREED)
        if self.place is not None and grad._flags == 0 and not grad_enabled() and not slow_path():
            return self.run_plain(grad, needed, results)
        whole = replayer.backward_copy(grad, self._shape_, self.strides)
        if self.place is not None:
            size, stride, offset = self.place
            part = whole.as_strided(size, stride, offset + whole.storage_offset())
        else:
            part = replay(self.view, whole)
        inner_needed = None
        if needed is not None or self._next_[0] is None:
            inner_needed = [n is not None and (needed is None or needed[i]) for i, n in enumerate(self._next_)]
        inner = self.inner._run_([replayer.contiguous_clone(part)], inner_needed)
        for i, g in enumerate(inner):
            if g is None or i >= len(results) or (inner_needed is not None and not inner_needed[i]):
                continue
            if i == 0:
                part.copy_(g)
                counter_of(whole).n = WRITES
                results[0] = whole
            else:
                results[i] = g
        return results

    def run_plain(self, grad: Tensor, needed: Sequence[Any] | None, results: list[Any]) -> list[Any]:
        """`_run` on bare arrays, when no mode is on and no graph is wanted."""
        size, stride, offset = self.place
        whole = empty_strided(self._shape_, self.strides, grad.array.dtype)
        whole[...] = grad.array
        part = strided(whole, size, stride, offset)
        wanted = [n is not None and (needed is None or needed[i]) for i, n in enumerate(self._next_)]
        inner = self.inner._run_([new_tensor(part.copy())], wanted)
        for i, g in enumerate(inner):
            if g is not None and i < len(results) and wanted[i]:
                results[i] = g
        if results[0] is not None:
            if type(results[0]) is not Tensor or results[0]._flags:
                part_tensor: Any = new_tensor(part)
                part_tensor.copy_(results[0])
            else:
                part[...] = results[0].array
            results[0] = new_tensor(whole)
            counter_of(results[0]).n = WRITES
        return results

    def _release_(self) -> None:
        if self.inner is not None:
            self.inner._release_()
        self.inner = None


# ---- retain_grad moves with the tensor
def take_retained(t: Tensor) -> Any:
    """Remove the retains-grad hook of `t` from its current node."""
    node = t._node
    if node is None or t._extra is None or not t._extra.retains_grad or node._hooks_ is None or node._hooks_.retain is None:
        return None
    return node._hooks_.retain.pop(t._nr, None)


def give_retained(t: Tensor, hook: Any) -> None:
    """Add a retains-grad hook to the current node of `t`."""
    node = t._node
    if node._hooks_ is None:
        node._hooks_ = NodeHooks()
    if node._hooks_.retain is None:
        node._hooks_.retain = {}
    node._hooks_.retain[t._nr] = hook


def is_view(t: Tensor) -> bool:
    return t._view is not None


def detach_inplace(t: Tensor) -> None:
    """Detach `t` from its history."""
    if t._view is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
                           "(DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP "
                           "buckets, and hence detach_() cannot be called on these gradients. To fix this error, please "
                           "refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
    if t._recorded is not None:
        counter_of(t)                     # through it, its node detects later writes
        extra_of(t).detached = True       # graphs that saved it must refuse it
    if t._flags & FLAG_DUAL:
        t._flags &= ~FLAG_DUAL
        t._extra.tangent = None
    t._node, t._nr, t._requires = None, 0, False

