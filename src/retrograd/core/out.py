"""The out= forms of ops: the checks and their order, and how results are written to the given tensors.

NOTE [Order of checks]
An op with a derivative checks requires_grad first; then come overlapping memory, shapes, dtypes, and
last the dtypes that its kernel does not support. A composite op checks its own arguments, and one of its parts checks
requires_grad. Two kinds of ops accept operands that require grad: those that compute and then copy ("out_copied") and those
without a derivative ("out_untracked"); their results are recorded as copies.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.core import dispatch, dtypes, storage, views
from retrograd.core.hooks import hooks
from retrograd.core.indexing import dim_error
from retrograd.core.kernels import FLOAT32, check_apart, check_overlap, check_shapes, check_writable, promoted_dtype
from retrograd.core.modes import TorchDispatchMode, push_mode, remove_mode
from retrograd.core.opdef import OpDef
from retrograd.core.state import grad_enabled, inference
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_SPARSE, FLAG_WRITABLE, Tensor, wants_grad


def write_out(op: OpDef, args: Sequence[Any]) -> Any:
    """The out= form of an op: compute the functional form, then copy into `out`."""
    outs, inputs = args[op.out_arg:], args[:op.out_arg]
    function = op.functional
    if not function._ready:
        function.prepare()
    is_product = function.out.startswith(PRODUCT)
    if function.composite and "out_first" in function.traits and not is_product:
        check_first(function, inputs, outs)
    recorded = grad_enabled() and refuse_gradients(op, inputs, outs)
    if function.composite and is_product:
        check_first(function, inputs, outs)
    for out in outs:
        if out._flags & FLAG_INFERENCE and not out._flags & FLAG_WRITABLE and not inference():
            raise RuntimeError(views.INFERENCE_WRITE)
    if recorded:
        result = dispatch.call(function, inputs)
        for i, (out, value) in enumerate(zip(outs, result if function.multiple else (result,), strict=True)):
            hooks.record_out(out, value, rule_of(function, i), op.schema.params[op.out_arg + i].name)
        return given(op, outs)
    if not function.composite:
        if "out_first" in function.traits:
            check_first(function, inputs, outs)
        return dispatch.below(op, args)
    try:
        result = function.compute(*inputs)
    except RuntimeError as error:
        check_late(op, inputs, outs, error)
        raise
    if function.has_lists:
        check_joined(function, inputs, outs)
    if function.traits and outs[0].array.size:          # views of operands, which no tensor is itself
        check_out_memory(function, inputs, outs)
    if function.traits:
        check_resized(function, inputs, outs, result)
    return assign_out(op, outs, result)


def check_late(op: OpDef, inputs: Sequence[Any], outs: Sequence[Tensor], error: Exception) -> None:
    """Check the dtypes of out= tensors before the errors of kernels: unsupported dtypes, values that cannot be factorized."""
    function = op.functional
    if function.has_lists:
        check_joined(function, inputs, outs)
    elif isinstance(error, NotImplementedError):
        if '" not implemented for' in str(error):
            check_before_dtypes(op, inputs, outs)
    elif LATE.search(f"{type(error).__name__}: {error}"):
        hooks.check_out_dtype(rule_of(function, 0).split(" || ")[-1], inputs[0].dtype, outs[0].dtype, "out")


LATE = re.compile("^_LinAlgError|: expected m1 and m2 to have the same dtype")


def check_joined(op: OpDef, inputs: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Check that the joint dtype of a list of tensors can be cast to that of the out= tensor."""
    if op.out == "cat" and inputs[0]:
        joint = functools.reduce(dtypes.promote_types, [t.dtype for t in inputs[0]])
        hooks.check_out_dtype("cat", joint, outs[0].dtype, "out")


PRODUCT = "same: result dtype"            # the rule of products of two vectors


def refuse_gradients(op: OpDef, inputs: Sequence[Any], outs: Sequence[Tensor]) -> bool:
    """Refuse operands and outputs that require grad where the op does; return whether the results are recorded."""
    function = op.functional
    operands = [t for a in inputs for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]
    returns = op.functional.schema.returns
    written = any([wants_grad(t) for t, r in zip(outs, returns, strict=True) if r.name not in ("indices", "exponent")])
    if not written and not any([wants_grad(t) for t in operands]) or all(
            [t._flags & FLAG_INFERENCE for t in (*operands, *outs)]):
        return False
    traits = function.traits
    untracked = "out_untracked" in traits or "view_copy" in traits
    if untracked and not written:
        return bool(function.differentiable or function.composite)
    if "out_copied" in traits:
        return True
    if not (untracked or function.differentiable or function.composite):
        return False
    error = RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                         "the arguments requires grad.")
    if function.composite and not untracked:
        result = Parts(error).run(function, [t.detach() if isinstance(t, Tensor) else t for t in inputs])
        if ": " in function.out and " || " not in function.out:
            hooks.check_out_dtype(rule_of(function, 0), result.dtype, outs[0].dtype, "out")
    raise error


def check_first(op: OpDef, inputs: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Check the dtypes of out= tensors before everything else: results have the dtype of the first operand."""
    if op.check is not None:
        op.check(*inputs)
    if op.out.startswith(PRODUCT):
        ranks = [0 if t is outs[0] else t.array.ndim for t in inputs]
        if op.composite and any([t.array.ndim != 1 for t in inputs]):
            return None
        hooks.check_out_dtype(op.out.split(" || ")[0], inputs[0].dtype, outs[0].dtype, "out")
        if 0 in ranks:
            raise RuntimeError(f"1D tensors expected, but got {ranks[0]}D and {ranks[1]}D tensors")
        return None
    if "out_joint" in op.traits:
        pair = inputs[1:]
        joint = dtypes.result_type_of([t.dtype for t in pair if t.array.ndim], [t.dtype for t in pair if not t.array.ndim], [])
        return hooks.check_out_dtype(rule_of(op, 0), joint, outs[0].dtype, "out")
    if op.has_lists:
        for i, t in enumerate(inputs[0]):
            if not t.array.ndim:
                raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    if "out_after_dim" in op.traits:
        # as everywhere in cat, empty vectors have no rank of their own
        first = next((t for t in inputs[0] if t.array.shape != (0,)), None) if op.has_lists else inputs[0]
        rank = 1 if first is None else first.array.ndim or 1
        dim = next(a for a, p in zip(inputs, op.schema.params, strict=True) if p.name == "dim")
        if first is not None and not -rank <= dim < rank:
            raise dim_error(dim, rank)
    if op.has_lists:
        return check_joined(op, inputs, outs)
    first = next(t for i in op.tensor_args for t in [inputs[i]] if isinstance(t, Tensor)).dtype
    for i, (out, returned) in enumerate(zip(outs, op.schema.returns, strict=True)):
        kind = op.out.partition(": ")[0]
        value = {"indices": dtypes.int64, "exponent": dtypes.int32}.get(returned.name or "", first)
        if kind == "bool" or kind in ("float", "inexact") and value.category < 2:
            value = dtypes.bool_ if kind == "bool" else dtypes.float32
        if kind == "complex":
            if value.is_complex:              # the dimensions come first
                return
            value = dtypes.complex64
        hooks.check_out_dtype(rule_of(op, i), value, out.dtype, returned.name or "out")


def rule_of(op: OpDef, i: int) -> str:
    """The rule for the dtype of the i-th out= tensor."""
    rules = op.out.split(" // ")
    return str(rules[min(i, len(rules) - 1)])


class Parts(TorchDispatchMode):
    """Runs a composite op up to the part whose out= form refuses gradients: errors from views and from the op itself come
    before it, errors from other parts after it."""

    _is_hidden = True

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.reached = False

    def run(self, op: OpDef, args: Sequence[Any]) -> Any:
        push_mode(self)
        try:
            return op.compute(*args)
        except Exception:
            if self.reached:
                raise self.error from None
            raise
        finally:
            remove_mode(self)

    def _process(self, op: OpDef, args: Sequence[Any]) -> Any:
        self.reached = self.reached or not op.is_view and op.name not in ("_to_copy", "clone")
        return dispatch.compute(op, args)


def compute_out(op: OpDef, args: Sequence[Any]) -> Any:
    """Run the kernel of an out= form."""
    function = op.functional
    if not function._ready:
        function.prepare()
    outs, inputs = args[op.out_arg:], args[:op.out_arg]
    out = outs[0]
    if "out_dtype" in function.traits:
        inputs = [out.dtype if a is None and p.name == "dtype" else a
                  for a, p in zip(inputs, function.schema.params, strict=True)]
    if function.check is not None and (function.promote is not None or hasattr(function.check, "refused_kinds")):
        function.check(*inputs)
    try:
        check_out_memory(function, inputs, outs)
    except RuntimeError:
        check_dims(function, inputs)
        raise
    # an output that is also an input is written in place, with the errors of an in-place op
    rule = "cast" if function.out == "found" and any([t is out for t in inputs]) else None
    if ("out_dtype" in function.traits or function.out.startswith("inexact")) and dtype_argument(function, args) is not None:
        rule = "same"
    try:
        result = dispatch.compute(function, inputs)
    except NotImplementedError as error:
        if '" not implemented for' not in str(error):           # raised by the op itself, before the other checks
            raise
        if function.promote is None:
            check_before_dtypes(op, inputs, outs)
        elif not function.multiple:
            check_before_kernel(function, inputs, out, rule)
        raise
    except RuntimeError as error:
        check_late(op, inputs, outs, error)
        raise
    if function.has_lists:
        for operands in inputs:
            if isinstance(operands, (list, tuple)) and (out.array.shape != (0,) or result.array.size):
                check_apart(out.array, operands)
    check_resized(function, inputs, outs, result)
    if iterates(function) and isinstance(result, Tensor):
        check_out_shape(out, inputs, result.array.shape)
    return assign_out(op, outs, result, rule)


def check_dims(op: OpDef, inputs: Sequence[Any]) -> None:
    """Raise the op's own error about dimensions, which comes before those about memory."""
    try:
        dispatch.compute(op, inputs)
    except IndexError as error:
        if WRONG_DIM.search(str(error)):
            raise error from None
    except Exception:
        pass


WRONG_DIM = re.compile("Dimension out of range|Dimension specified as|Expected reduction dim|to a 0-dim tensor")


def check_resized(op: OpDef, inputs: Sequence[Any], outs: Sequence[Tensor], result: Any) -> None:
    """Resize out= tensors that lie in the memory of operands: they may now cover elements that they did not before."""
    if not op.has_lists and ("guarded" not in op.traits or "out_joint" in op.traits):
        return
    moved = False
    for out, value in zip(outs, result if op.multiple else (result,), strict=True):
        if value.dtype is out.dtype and out.array.shape != value.array.shape and any([
                t is not out and storage.owner_of(t.array) is storage.owner_of(out.array)
                for a in inputs for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]):
            hooks.resize_out(out, value)
            moved = True
    if moved:
        check_out_memory(op, inputs, outs)


def dtype_argument(op: OpDef, inputs: Sequence[Any]) -> dtypes.dtype | None:
    """The dtype= that a call gives, or None."""
    return next((a for a, p in zip(inputs, op.schema.params, strict=False) if p.name == "dtype"), None)


def check_before_kernel(op: OpDef, inputs: Sequence[Any], out: Tensor, rule: Any) -> None:
    """Check the out= tensor before an elementwise op's kernel reports an unsupported dtype."""
    operands = [inputs[i] for i in op.tensor_args if isinstance(inputs[i], Tensor)]
    check_shapes(op, inputs)
    if any([t is out for t in operands]):
        shape = out.array.shape
        for t in operands:
            check_out_shape(out, operands, np.broadcast_shapes(shape, t.array.shape))
    if op.promote == "compare":
        return
    joint = promoted_dtype(op, [inputs[i] for i in (*op.tensor_args, *op.scalar_args)])
    if (rule or op.out) == "cast" and not dtypes.can_cast(joint, out.dtype):
        raise RuntimeError(f"result type {joint.legacy} can't be cast to the desired output type {out.dtype.legacy}")
    if op.out == "found" and joint is not out.dtype:
        raise RuntimeError(f"Found dtype {out.dtype.legacy} but expected {joint.legacy}")


def check_before_dtypes(op: OpDef, inputs: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Check the dtypes of out= tensors for an op whose kernel does not support the operands' dtype."""
    function = op.functional
    operands = [inputs[i] for i in function.tensor_args if isinstance(inputs[i], Tensor)]
    given_dtype = dtype_argument(function, inputs)
    refused = given_dtype or operands[0].dtype
    try:
        floats = [dtypes.float32 if t is given_dtype is not None else t if not isinstance(t, Tensor) or t.dtype is not refused
                  else hooks.cast(t, FLOAT32) for t in inputs]
        made = function.compute(*floats) if function.composite else dispatch.compute(function, floats)
    except Exception:
        return
    for i, (out, value) in enumerate(zip(outs, made if function.multiple else (made,), strict=True)):
        rule = rule_of(function, i)
        hooks.check_out_dtype(rule.split(" || ")[-1], refused if value.dtype is dtypes.float32 else value.dtype, out.dtype,
                              op.schema.params[op.out_arg + i].name)


def check_out_memory(op: OpDef, inputs: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Refuse out= tensors whose memory overlaps operands in a way that the op does not support."""
    traits = op.traits
    if op.has_lists:
        inputs = [t for a in inputs for t in (a if isinstance(a, (list, tuple)) else (a,))]
    if traits and "out_apart" in traits:
        for out in outs:
            check_writable(out.array)
            check_apart(out.array, inputs[:1] if "guarded" in traits else inputs)
            if "guarded" in traits:            # it may read the memory of other operands that it writes
                check_overlap(out.array, inputs[1:])
    elif traits and "apart" in traits:         # its first operand is the target
        check_overlap(outs[0].array, inputs[:1])
        check_apart(outs[0].array, inputs[1:])
    elif op.promote is not None or op.elementwise or traits and "guarded" in traits:
        for out in outs:
            if op.elementwise and not out._flags & FLAG_SPARSE:       # the array of a sparse tensor holds no data
                check_writable(out.array)
            check_overlap(out.array, inputs)


def iterates(op: OpDef) -> bool:
    """Whether the op runs over its out= tensor together with its operands."""
    return op.promote is not None or "out_joint" in op.traits


def check_out_shape(out: Tensor, inputs: Sequence[Any], shape: tuple[int, ...]) -> None:
    """Refuse to resize an out= tensor that is also an input."""
    if out.array.shape != shape and any([t is out for t in inputs]):
        raise RuntimeError(f"output with shape {list(out.array.shape)} doesn't match the broadcast shape {list(shape)}")


def assign_out(op: OpDef, outs: Sequence[Tensor], result: Any, rule: str | None = None) -> Any:
    """Write the results of an op to its out= tensors."""
    if "out_last_first" in op.traits:
        for i, (out, value) in reversed(list(enumerate(zip(outs, result, strict=True)))):
            hooks.check_out_dtype(rule_of(op.functional, i), value.dtype, out.dtype, op.schema.params[op.out_arg + i].name)
    for i, (out, value) in enumerate(zip(outs, result if op.functional.multiple else (result,), strict=True)):
        hooks.assign_out(out, value, op.name, rule or rule_of(op.functional, i), op.schema.params[op.out_arg + i].name)
    return given(op, outs)


def given(op: OpDef, outs: Sequence[Tensor]) -> Any:
    """The return value of a call with out=."""
    return op.result_type(*outs) if op.functional.multiple and op.result_type else (
        tuple(outs) if len(outs) > 1 else outs[0])


hooks.write_out = write_out
hooks.compute_out = compute_out
