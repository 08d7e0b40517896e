"""out= forms: the functional op, then its result copied into tensors that the call names."""
from __future__ import annotations

from typing import Any

from retrograd.core import views
from retrograd.core.hooks import hooks
from retrograd.core.kernels import check_apart, check_overlap
from retrograd.core.opdef import OpDef
from retrograd.core.state import grad_enabled, inference
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_WRITABLE, Tensor, wants_grad


def write_out(op: OpDef, args: Any, below: Any) -> Any:
    """The out= form of an op: compute the functional form, then copy into `out`. `below` is the layer below autograd."""
    outs = args[op.out_arg:]
    inputs = args[:op.out_arg]
    if not op.functional._ready:
        op.functional.prepare()
    if grad_enabled() and (op.functional.differentiable or op.functional.composite):
        tensors = [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]
        if any([wants_grad(t) for t in tensors]) and not all([t._flags & FLAG_INFERENCE for t in tensors]):
            if op.functional.composite and any([isinstance(t, Tensor) and not t.array.ndim for t in inputs]):
                op.functional.compute(*inputs)           # made of others, it looks at ranks before they look at gradients
            raise RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, "
                               "but one of the arguments requires grad.")
    for out in outs:
        if out._flags & FLAG_INFERENCE and not out._flags & FLAG_WRITABLE and not inference():
            raise RuntimeError(views.INFERENCE_WRITE)
    if not op.functional.composite:
        return below(op, args)
    result = op.functional.compute(*inputs)
    if op.functional.traits:
        check_out_memory(op.functional, inputs, outs)
    return assign_out(op, outs, result)


def compute_out(op: OpDef, args: Any, compute: Any) -> Any:
    """Run the kernel of an out= form; `compute` runs that of the functional one."""
    if not op.functional._ready:
        op.functional.prepare()
    check_out_memory(op.functional, args[:op.out_arg], args[op.out_arg:])
    result = compute(op.functional, args[:op.out_arg])
    if op.functional.has_lists:
        for given in args[:op.out_arg]:
            if isinstance(given, (list, tuple)) and (args[op.out_arg].array.shape != (0,) or result.array.size):
                check_apart(args[op.out_arg].array, given)
    if op.functional.promote is not None:
        check_out_shape(args[op.out_arg], args[:op.out_arg], result)
    # an output that is an input as well is written in place, and refused in the words of an in-place op
    rule = "cast" if op.functional.out == "found" and any([t is args[op.out_arg] for t in args[:op.out_arg]]) else None
    return assign_out(op, args[op.out_arg:], result, rule)


def check_out_memory(op: OpDef, inputs: Any, outs: Any) -> None:
    """Refuse out= tensors in memory that the op may not write while it reads its operands."""
    traits = op.traits
    if op.has_lists:
        inputs = [t for a in inputs for t in (a if isinstance(a, (list, tuple)) else (a,))]
    if traits and "out_apart" in traits:
        for out in outs:
            check_apart(out.array, inputs[:1] if "guarded" in traits else inputs)
            if "guarded" in traits:            # of the others it may read what it writes
                check_overlap(out.array, inputs[1:])
    elif traits and "apart" in traits:         # its first operand is what it writes to
        check_overlap(outs[0].array, inputs[:1])
        check_apart(outs[0].array, inputs[1:])
    elif op.promote is not None or op.elementwise or traits and "guarded" in traits:
        for out in outs:
            check_overlap(out.array, inputs)


def check_out_shape(out: Any, inputs: Any, result: Any) -> None:
    """An out= tensor that is an input as well cannot be resized."""
    if isinstance(result, Tensor) and out.array.shape != result.array.shape and any([t is out for t in inputs]):
        raise RuntimeError(f"output with shape {list(out.array.shape)} doesn't match the broadcast shape "
                           f"{list(result.array.shape)}")


def assign_out(op: OpDef, outs: Any, result: Any, rule: Any = None) -> Any:
    for i, (out, value) in enumerate(zip(outs, result if op.functional.multiple else (result,), strict=True)):
        hooks.assign_out(out, value, op.name, rule or op.functional.out, op.schema.params[op.out_arg + i].name)
    return op.result_type(*outs) if op.functional.multiple and op.result_type else (
        tuple(outs) if len(outs) > 1 else outs[0])
