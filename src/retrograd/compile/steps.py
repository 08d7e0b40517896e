"""The functions that the graph of a backward pass calls: formulas, hooks, checks of gradients, accumulation.

Any gradient may be None, as in the engine; this is determined when the graph runs.
"""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from retrograd.autograd.accumulate import accumulate
from retrograd.autograd.engine import expands_to
from retrograd.autograd.hooks import as_results, check_hook_result
from retrograd.core.dtypes import is_complex_type
from retrograd.core.graph import name_of
from retrograd.core.hooks import hooks as services
from retrograd.core.opdef import OpDef
from retrograd.core.recipe import ATTR, GRAD, GRADS, NEEDED, SAVED
from retrograd.core.record import OpNode
from retrograd.core.state import tls
from retrograd.core.tensor import FLAG_SPARSE, Tensor
from retrograd.fx.node import has_side_effect
from retrograd.ops import late

ROOT = "root"
NEVER = -1 << 20          # modes see a copy in place of a stolen gradient, as in PyTorch


class BackwardOp:
    """The derivative formula of an op as a function of gradients, saved values and attributes."""

    def __init__(self, op: OpDef) -> None:
        self.op = op
        self.__name__ = op.node_name
        self.__module__ = "torch._dynamo.compiled_autograd.ops"

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    def __call__(self, grads: list[Any], saved: list[Any], attributes: list[Any], edges: list[bool]) -> list[Any]:
        """One gradient for each edge; `edges` says which are wanted."""
        if all([g is None for g in grads]):
            return [None] * len(edges)
        if self.op.vjp is None or not isinstance(self.op.vjp, dict):
            raise RuntimeError(f"derivative for aten::{self.op.name} is not implemented")
        if self.op.has_lists:
            return self.apply_lists(grads, saved, attributes, edges)
        results: list[Any] = [None] * len(edges)
        for rule in self.op.rules:
            if not any([edges[i] for i in rule.targets]):
                continue
            out = rule.fn(*arguments(rule, grads, saved, attributes, edges))
            for i, g in zip(rule.targets, out if rule.many else (out,), strict=True):
                if edges[i]:
                    results[i] = g
        return results

    def apply_lists(self, grads: Any, saved: Any, attributes: Any, edges: list[bool]) -> list[Any]:
        starts, counts = attributes[len(self.op.attr_names)]
        results: list[Any] = [None] * len(edges)
        for rule in self.op.rules:
            spans = [(starts[i], counts[i]) for i in rule.targets]
            flags = [[edges[start + k] for k in range(1 if count < 0 else count)] for start, count in spans]
            if not any([any(f) for f in flags]):
                continue
            values = [(flags[0] if len(flags) == 1 else flags) if kind == NEEDED else value for (kind, _), value in
                      zip(rule.sources, arguments(rule, grads, saved, attributes, edges), strict=True)]
            outs = rule.fn(*values)
            for (start, count), out in zip(spans, outs if rule.many else (outs,), strict=True):
                if count < 0:
                    results[start] = out
                else:
                    results[start:start + count] = [None] * count if out is None else list(out)
        return results


def arguments(rule: Any, grads: Any, saved: Any, attributes: Any, edges: list[bool]) -> list[Any]:
    """The arguments of a rule, by the names of its parameters."""
    found = {GRAD: lambda i: grads[0], GRADS: lambda i: grads, SAVED: lambda i: saved[i], ATTR: lambda i: attributes[i],
             NEEDED: lambda i: list(edges)}
    return [found[kind](index) for kind, index in rule.sources]


backward_ops: dict[Any, BackwardOp] = {}


def backward_op(op: OpDef) -> BackwardOp:
    """The derivative formula of `op`, one object for each op."""
    return backward_ops.setdefault(op, BackwardOp(op))


@has_side_effect
def call_backward(ctx: Any, saved_tensors: Any, *grads: Any) -> Any:
    """The backward of a custom Function, which finds `saved_tensors` on its ctx."""
    before = ctx._given_tensors_
    ctx._given_tensors_ = tuple(saved_tensors)
    tls.task.node = ctx
    if not getattr(ctx._forward_cls, "is_traceable", True):
        graph_breaks.break_graph(f"backward of {name_of(ctx)}, which is not traceable")
    breaks = graph_breaks.count
    try:
        results = ctx._run_(list(grads), None)
    finally:
        ctx._given_tensors_ = before
    if graph_breaks.count != breaks:          # the code after the break belongs to another frame
        graph_breaks.end_segment()
    return results


@has_side_effect
def call_node(node: Any, wanted: Any, *grads: Any) -> Any:
    """Run an opaque node."""
    tls.task.node = node
    return node._run_(list(grads), wanted)


class GraphBreaks:
    """The number of graph breaks, and the recorder's function that ends a segment (set by recorder.py)."""

    def __init__(self) -> None:
        self.count = 0
        self.end_segment: Any = lambda: None
        self.break_graph: Any = lambda reason: None
        self.is_broken: Any = lambda: False       # whether the recorded pass consists of several graphs
        self.unrecorded: Any = lambda reason: nullcontext()       # a graph break where the compiler allows one
        self.note_root: Any = lambda grad: None   # the check of a gradient with which a captured pass starts


graph_breaks = GraphBreaks()


# ---- hooks
@has_side_effect
def call_hook(hook: Any, *args: Any, hook_type: str, **facts: Any) -> Any:
    """Run one hook; a result other than None replaces its argument."""
    breaks = graph_breaks.count
    try:
        return run_hook(hook, args, hook_type, facts)
    finally:
        if graph_breaks.count != breaks:      # the code after the break belongs to another frame
            graph_breaks.end_segment()


def run_hook(hook: Any, args: Any, hook_type: str, facts: Any) -> Any:
    if hook_type == "tensor_pre_hook":
        grad = args[0]
        result = hook(grad)
        if result is not None:
            check_hook_result(grad, result, hook)
        return grad if result is None else result
    if hook_type == "pre_hook":
        result = hook(tuple(args[0]))
        return args[0] if result is None else as_results(result, args[0], hook)
    if hook_type == "post_hook":
        result = hook(tuple(args[0]), tuple(args[1]))
        return args[0] if result is None else as_results(result, args[0], hook)
    if hook_type == "post_acc_grad_hook":
        if args[1] is not None and hook(args[0]) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        return None
    if hook_type == "unpack_hook":
        saved, node = facts["saved"], facts["node"]
        tls.task.node = node
        if getattr(hook, "is_traceable", True):
            return unpacked(saved, hook(args[0]), node)
        with graph_breaks.unrecorded(f"unpack hook of {name_of(node)}, which is not traceable"):
            return unpacked(saved, hook(args[0]), node)
    hook(args[0])                             # the retains-grad hook
    return args[0]


def unpacked(saved: Any, t: Any, node: Any) -> Any:
    """The result of an unpack hook; a formula that records nothing needs no history, which would be one more op."""
    return t if isinstance(t, Tensor) and isinstance(node, OpNode) and not tls.grad_enabled else saved.with_history(t, node)


# ---- gradients
def add_gradients(old: Any, new: Any) -> Any:
    """The sum of two gradients of one value."""
    if old is None or new is None:
        return new if old is None else old
    return new + old if old._flags & FLAG_SPARSE else old + new


def validate_outputs(grads: Any, expected: Any, sender: str, mixes: bool) -> list[Any]:
    """Convert gradients to the expected shapes and dtypes; `expected` has (shape, dtype, leaf) or None for each."""
    if sender == ROOT:
        graph_breaks.note_root(grads[0])
    return [grad if grad is None or facts is None else fit(grad, facts, sender, mixes, i)
            for i, (grad, facts) in enumerate(zip(grads, expected, strict=True))]


def checked(grad: Any) -> Any:
    """A gradient that needed no conversion."""
    return grad


def fit(grad: Any, facts: Any, sender: str, mixes: bool, index: int) -> Any:
    shape, dtype, leaf = facts
    if not isinstance(grad, Tensor):
        raise TypeError(f"expected Variable or None (got {type(grad).__name__})")
    if shape is None:
        return grad
    dtype = dtype.numpy
    if mixes and is_complex_type(grad.array.dtype) and not is_complex_type(dtype):
        grad = late.real(grad)
    got = grad.array.shape
    if got != shape:
        if not expands_to(shape, got):
            raise RuntimeError(f"Function {sender} returned an invalid gradient at index {index} - got {list(got)} but "
                               f"expected shape compatible with {list(shape)}")
        grad = late.sum_to_size(grad, shape)
    if leaf is not None and leaf._extra is not None and leaf._extra.grad_dtype_set:
        if leaf._extra.grad_dtype is None:
            return grad
        dtype = leaf._extra.grad_dtype.numpy
    have = grad.array.dtype
    if have != dtype:
        if is_complex_type(have) and not is_complex_type(dtype):
            raise RuntimeError("Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be "
                               "true, but got false.  (Could this error message be improved?  If so, please report an "
                               "enhancement request to PyTorch.)")
        grad = services.cast(grad, dtype)
    return grad


@has_side_effect
def accumulate_grad_(variable: Any, grad: Any) -> Any:
    """Add a gradient to the `.grad` of a leaf."""
    if grad is not None:
        accumulate(variable, grad, tls.task is not None and tls.task.create_graph, NEVER if tls.dispatch_modes else 1)
    return grad


@has_side_effect
def exec_final_callbacks() -> None:
    """Run the callbacks that were queued during the pass."""
    callbacks = [] if tls.task is None else tls.task.callbacks
    if callbacks and graph_breaks.is_broken():
        raise AssertionError("queue_callback() is only supported when Compiled Autograd is enabled with fullgraph=True")
    while callbacks:
        callbacks.pop(0)()



for function in (call_backward, call_node, call_hook, add_gradients, validate_outputs, accumulate_grad_, exec_final_callbacks):
    function.__module__ = "torch._dynamo.compiled_autograd"
